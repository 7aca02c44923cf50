// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"cmp"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sdkcache "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	sdkcluster "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	sdkdatabase "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	sdknetwork "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	sdknodegroup "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	sdksubnet "github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A vendor is what the cloud's SDK has for a kind.
type vendor struct {
	reads, creates, updates reflect.Type
	elsewhere               []string // what can be configured and is not in forProvider
}

func vendorOf[Read, Create, Update any](elsewhere ...string) vendor {
	return vendor{reflect.TypeFor[Read](), reflect.TypeFor[Create](), reflect.TypeFor[Update](), elsewhere}
}

// vendors are the SDK's types by the kind. A database of the guides has no labels, and only kinds of the guides have their external
// name in forProvider (D19).
func vendors() map[string]vendor {
	return map[string]vendor{
		"FavouriteDBInstance": vendorOf[sdkdatabase.Instance, sdkdatabase.CreateInstanceInput, sdkdatabase.UpdateInstanceInput]("labels"),
		"CacheInstance":       vendorOf[sdkcache.Instance, sdkcache.CreateInstanceInput, sdkcache.UpdateInstanceInput]("previousPasswordSeconds"),
		"FavouriteCluster": vendorOf[sdkcluster.Cluster, sdkcluster.CreateClusterInput, sdkcluster.UpdateClusterInput](
			"rotateToken", "previousTokenSeconds"),
		"Network":   vendorOf[sdknetwork.Network, sdknetwork.CreateNetworkInput, sdknetwork.UpdateNetworkInput](),
		"Subnet":    vendorOf[sdksubnet.Subnet, sdksubnet.CreateSubnetInput, sdksubnet.UpdateSubnetInput](),
		"NodeGroup": vendorOf[sdknodegroup.NodeGroup, sdknodegroup.CreateNodeGroupInput, sdknodegroup.UpdateNodeGroupInput]("name"),
	}
}

func TestVendor(t *testing.T) {
	t.Parallel()
	for _, k := range rootKinds[resource.Managed](t) {
		v := vendors()[k.Kind]
		settings, observations := leaves(k.part("Spec", "ForProvider")), leaves(k.part("Status", "AtProvider"))
		t.Run("settings of "+k.Kind+" of "+k.Group+" are those of the cloud (K9 P5 P6 P20 P21)", func(t *testing.T) {
			t.Parallel()
			want := leaves(v.creates)
			maps.Copy(want, leaves(v.updates))
			maps.DeleteFunc(want, func(name string, _ reflect.StructField) bool { return slices.Contains(v.elsewhere, name) })
			maps.DeleteFunc(settings, func(name string, _ reflect.StructField) bool { // references and selectors stand in for a value
				return regexp.MustCompile(`(Id|Ids?)(Refs?|Selector)$`).MatchString(name)
			})
			var got []string
			for name, f := range settings {
				if regexp.MustCompile(`(Id|Ip|Cidr|Dns|Mtu|Url|Api)s?([A-Z]|$)`).MatchString(f.Name) {
					t.Errorf("%s has an acronym that is not in upper case", f.Name)
				}
				got = append(got, strings.TrimSuffix(name, "SecretRef"))
			}
			slices.Sort(got)
			if diff := gocmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
				t.Errorf("-cloud +kind:\n%s", diff)
			}
		})
		t.Run("observations of "+k.Kind+" of "+k.Group+" are those of the cloud, with its pointers (P22 P52)", func(t *testing.T) {
			t.Parallel()
			theirs := leaves(v.reads)
			for name, f := range observations {
				want := theirs[name].Type
				switch want {
				case reflect.TypeFor[time.Time]():
					want = reflect.TypeFor[metav1.Time]()
				case reflect.TypeFor[*time.Time]():
					want = reflect.TypeFor[*metav1.Time]()
				}
				if f.Type != want {
					t.Errorf("%s is of type %s, and of type %s in the SDK", name, f.Type, want)
				}
			}
		})
		t.Run("no setting of a struct of "+k.Kind+" of "+k.Group+" is also an observation (P32 P33)", func(t *testing.T) {
			t.Parallel()
			all := k.definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			for name, observed := range all["status"].Properties["atProvider"].Properties {
				for field := range observed.Properties {
					if _, both := all["spec"].Properties["forProvider"].Properties[name].Properties[field]; both {
						t.Errorf("%s.%s is in forProvider and in atProvider", name, field)
					}
				}
			}
		})
	}
}

// leaves returns the fields of a struct and of the structs of its package below, by their paths in camelCase.
func leaves(typ reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for f := range typ.Fields() {
		snake, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		words := strings.Split(snake, "_")
		for i, w := range words[1:] {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
		name, below := strings.Join(words, ""), f.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() != reflect.Struct || below.PkgPath() != typ.PkgPath() {
			all[name] = f
			continue
		}
		for deeper, of := range leaves(below) {
			all[name+"."+deeper] = of
		}
	}
	return all
}

// Kinds have the names of the cloud's types, in the groups of their services. Only names of instances have the product.
func TestGroups(t *testing.T) {
	t.Parallel()
	named := map[string]string{"database.Instance": "FavouriteDBInstance", "cache.Instance": "CacheInstance", "cluster.Cluster": "FavouriteCluster"}
	groups := map[string]string{"subnet": "network", "nodegroup": "compute", "cluster": "compute"}
	for _, k := range append(rootKinds[resource.Managed](t), rootKinds[resource.ProviderConfig](t)...) {
		t.Run(k.Kind+" of "+k.Group+" (N16 N35 K54)", func(t *testing.T) {
			t.Parallel()
			want := schema.GroupVersionKind{Group: "fcp.crossplane.io", Version: "v1alpha3", Kind: k.Kind}
			if k.namespaced() || k.Kind == "ClusterProviderConfig" {
				want.Group = "fcp.m.crossplane.io"
			}
			if theirs := vendors()[k.Kind].reads; theirs != nil {
				service := path.Base(theirs.PkgPath())
				want.Kind = cmp.Or(named[theirs.String()], theirs.Name())
				want.Group = cmp.Or(groups[service], service) + "." + want.Group
			}
			if k.GroupVersionKind != want {
				t.Errorf("it is %s, want %s", k.GroupVersionKind, want)
			}
		})
	}
}
