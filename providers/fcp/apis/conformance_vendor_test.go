// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sdkcache "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	sdkdatabase "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	sdknetwork "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	sdknodegroup "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	sdksubnet "github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// A vendor is what the cloud's SDK has for a kind.
type vendor struct {
	reads, creates, updates reflect.Type
	answers                 reflect.Type      // to a create, if it is another than reads
	elsewhere               map[string]string // what can be configured and is not in forProvider, and why
	hidden                  map[string]string // what is answered and is shown nowhere, and why
}

// chosen returns the types of what the cloud lets one choose, at creation or later.
func (v vendor) chosen() map[string]reflect.Type {
	all := leaves(v.creates)
	maps.Copy(all, leaves(v.updates))
	return all
}

// answered returns the types of all that the cloud says.
func (v vendor) answered() map[string]reflect.Type {
	all := leaves(v.reads)
	if v.answers != nil {
		maps.Copy(all, leaves(v.answers))
	}
	return all
}

// vendors are the SDK's types for every managed kind.
func vendors() map[schema.GroupVersionKind]vendor {
	networks := vendor{
		reads:   reflect.TypeFor[sdknetwork.Network](),
		creates: reflect.TypeFor[sdknetwork.CreateNetworkInput](), updates: reflect.TypeFor[sdknetwork.UpdateNetworkInput](),
	}
	return map[schema.GroupVersionKind]vendor{
		databasev1alpha3.FavouriteDBInstanceGroupVersionKind: {
			reads: reflect.TypeFor[sdkdatabase.Instance](), answers: reflect.TypeFor[sdkdatabase.CreatedInstance](),
			creates: reflect.TypeFor[sdkdatabase.CreateInstanceInput](), updates: reflect.TypeFor[sdkdatabase.UpdateInstanceInput](),
			elsewhere: map[string]string{"labels": "the guides print this kind's settings, and have none; the controller sets its own (P10)"},
			hidden:    map[string]string{"password": "a secret, which only the connection Secret shows"},
		},
		cachev1alpha3.CacheInstanceGroupVersionKind: {
			reads: reflect.TypeFor[sdkcache.Instance](), answers: reflect.TypeFor[sdkcache.CreatedInstance](),
			creates: reflect.TypeFor[sdkcache.CreateInstanceInput](), updates: reflect.TypeFor[sdkcache.UpdateInstanceInput](),
			hidden: map[string]string{"password": "a secret, which only the connection Secret shows"},
		},
		networkv1alpha3.NetworkGroupVersionKind:           networks,
		namespacednetworkv1alpha3.NetworkGroupVersionKind: networks,
		namespacednetworkv1alpha3.SubnetGroupVersionKind: {
			reads:   reflect.TypeFor[sdksubnet.Subnet](),
			creates: reflect.TypeFor[sdksubnet.CreateSubnetInput](), updates: reflect.TypeFor[sdksubnet.UpdateSubnetInput](),
		},
		computev1alpha3.NodeGroupGroupVersionKind: {
			reads:   reflect.TypeFor[sdknodegroup.NodeGroup](),
			creates: reflect.TypeFor[sdknodegroup.CreateNodeGroupInput](), updates: reflect.TypeFor[sdknodegroup.UpdateNodeGroupInput](),
			elsewhere: map[string]string{"name": "the external name says it; only kinds of the guides have it twice (D19)"},
		},
	}
}

// Kinds mirror the cloud's types: its spelling becomes Kubernetes'.
func TestVendor(t *testing.T) {
	t.Parallel()
	kinds := rootKinds[resource.Managed](t)
	for rule, check := range map[string]func(*testing.T, rootKind, vendor){
		"settings are the cloud's (K9, P5, P20, P21)": settingsMirror,
		"all that the cloud says is shown (K10, P22)": answersAreShown,
		"pointers of the status are the SDK's (P52)":  observationMirrors,
	} {
		for _, k := range kinds {
			t.Run(rule+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				v, ok := vendors()[k.gvk]
				if !ok {
					t.Fatal("vendors() says nothing of this kind")
				}
				check(t, k, v)
			})
		}
	}
	for _, k := range kinds {
		t.Run("no other kind inside "+k.String()+" (P23)", func(t *testing.T) {
			t.Parallel()
			for _, f := range append(settingsOf(t, k), observationsOf(t, k)...) {
				for _, other := range kinds {
					if name := lowerCamel(other.gvk.Kind); f.json == name || f.json == name+"s" {
						t.Errorf("%s holds what is a kind of its own", f.json)
					}
				}
			}
		})
	}
}

// Kinds have the names of the cloud's types, as far as there is no reason for another, in the groups that were decided on.
func TestGroups(t *testing.T) {
	t.Parallel()
	services := map[string]string{
		"database": "database", "cache": "cache", "network": "network", "subnet": "network", "nodegroup": "compute",
	}
	// The first is printed by the guides. The second shows what its service has: another kind could be an Instance too.
	named := map[string]string{"database.Instance": "FavouriteDBInstance", "cache.Instance": "CacheInstance"}
	domain := func(k rootKind) string {
		if k.namespaced() || k.gvk.Kind == "ClusterProviderConfig" {
			return "fcp.m.crossplane.io"
		}
		return "fcp.crossplane.io"
	}
	for _, k := range rootKinds[resource.Managed](t) {
		t.Run("group and kind (N16 N35 K54) "+k.String(), func(t *testing.T) {
			t.Parallel()
			theirs := vendors()[k.gvk].reads
			if k.gvk.Kind != theirs.Name() && k.gvk.Kind != named[theirs.String()] {
				t.Errorf("the cloud's type is %s", theirs.Name())
			}
			want := schema.GroupVersion{Group: services[path.Base(theirs.PkgPath())] + "." + domain(k), Version: "v1alpha3"}
			if got := k.gvk.GroupVersion(); got != want {
				t.Errorf("it is of %s, want %s", got, want)
			}
		})
	}
	for _, k := range rootKinds[resource.ProviderConfig](t) {
		t.Run("group of configurations (N16 N35 K54) "+k.String(), func(t *testing.T) {
			t.Parallel()
			if got, want := k.gvk.GroupVersion(), (schema.GroupVersion{Group: domain(k), Version: "v1alpha3"}); got != want {
				t.Errorf("it is of %s, want %s", got, want)
			}
		})
	}
}

// settingsMirror wants every setting that the cloud lets one choose, at creation or later, and no other, under its name.
func settingsMirror(t *testing.T, k rootKind, v vendor) {
	want := v.chosen()
	for name := range v.elsewhere {
		if _, ok := want[name]; !ok {
			t.Errorf("the cloud has no setting %s", name)
		}
		delete(want, name)
	}
	have := leaves(k.part(t, "Spec", "ForProvider"))
	got := map[string]bool{}
	for name := range have {
		plain, isSecret := strings.CutSuffix(name, "SecretRef")
		if isSecret || !standsIn(name, have) {
			got[plain] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("-the cloud's +ours:\n%s", diff)
	}
}

// standsIn tells whether a field is a reference or a selector for another one.
func standsIn(name string, all map[string]reflect.Type) bool {
	for base := range all {
		if slices.Contains(companions(base), name) {
			return true
		}
	}
	return false
}

// leaves returns the types of the fields of a struct and those below in their place, by their paths in camelCase.
func leaves(typ reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := structOf(f.Type, typ.PkgPath())
		switch {
		case name == "-":
		case f.Anonymous:
			maps.Copy(all, leaves(f.Type))
		case below == nil:
			all[camel(name)] = f.Type
		default:
			for deeper, of := range leaves(below) {
				all[camel(name)+"."+deeper] = of
			}
		}
	}
	return all
}

// structOf returns the struct type of a package that a field holds, points to or has a list of, or nil.
func structOf(typ reflect.Type, path string) reflect.Type {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != path {
		return nil
	}
	return typ
}

// answersAreShown wants all that the cloud says in forProvider or atProvider, what users cannot choose in the latter, and
// secrets in neither.
func answersAreShown(t *testing.T, k rootKind, v vendor) {
	answered, chosen := v.answered(), v.chosen()
	settings, shown := leaves(k.part(t, "Spec", "ForProvider")), leaves(k.part(t, "Status", "AtProvider"))
	for name := range answered {
		_, set := settings[name]
		_, seen := shown[name]
		_, choosable := chosen[name]
		switch {
		case v.hidden[name] != "" && (set || seen):
			t.Errorf("%s must not be shown: %s", name, v.hidden[name])
		case v.hidden[name] != "" || seen:
		case !choosable:
			t.Errorf("%s, which only the cloud says, is not in atProvider", name)
		case !set:
			t.Errorf("%s is neither in forProvider nor in atProvider", name)
		}
	}
	for name := range v.hidden {
		if _, ok := answered[name]; !ok {
			t.Errorf("the cloud does not say %s", name)
		}
	}
}

// observationMirrors wants each field of atProvider to be one of the SDK's, and a pointer only if the SDK's is one.
func observationMirrors(t *testing.T, k rootKind, v vendor) {
	theirs := leaves(v.reads)
	for name, typ := range leaves(k.part(t, "Status", "AtProvider")) {
		want, ok := theirs[name]
		switch {
		case !ok:
			t.Errorf("the cloud reports no %s", name)
		case typ != kubernetes(want):
			t.Errorf("%s is of type %s, and of type %s in the SDK", name, typ, want)
		}
	}
}

// kubernetes is the type that a type of the SDK has in an object: its own, unless Kubernetes has one for the purpose (P5).
func kubernetes(typ reflect.Type) reflect.Type {
	switch typ {
	case reflect.TypeFor[time.Time]():
		return reflect.TypeFor[metav1.Time]()
	case reflect.TypeFor[*time.Time]():
		return reflect.TypeFor[*metav1.Time]()
	}
	return typ
}
