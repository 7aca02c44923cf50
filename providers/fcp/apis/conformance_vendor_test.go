// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sdkdatabase "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	sdknetwork "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	sdknodegroup "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	sdksubnet "github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// A vendor is what the cloud's SDK has for a kind.
type vendor struct {
	reads, creates, updates reflect.Type
	elsewhere               map[string]string // what can be configured and is not in forProvider, and why
}

// vendors are the SDK's types for every managed kind.
func vendors() map[schema.GroupVersionKind]vendor {
	networks := vendor{
		reads:   reflect.TypeFor[sdknetwork.Network](),
		creates: reflect.TypeFor[sdknetwork.CreateNetworkInput](), updates: reflect.TypeFor[sdknetwork.UpdateNetworkInput](),
	}
	return map[schema.GroupVersionKind]vendor{
		databasev1alpha3.FavouriteDBInstanceGroupVersionKind: {
			reads:   reflect.TypeFor[sdkdatabase.Instance](),
			creates: reflect.TypeFor[sdkdatabase.CreateInstanceInput](), updates: reflect.TypeFor[sdkdatabase.UpdateInstanceInput](),
			elsewhere: map[string]string{"labels": "the guides print this kind's settings, and have none; the controller sets its own (P10)"},
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
	kinds := managed(rootKinds(t))
	for rule, check := range map[string]func(*testing.T, rootKind, vendor){
		"K9 P5 P20 P21 settings are the cloud's":   settingsMirror,
		"P52 pointers of the status are the SDK's": observationMirrors,
		"P91 link to the cloud's page":             linksToPage,
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
		t.Run("P23 no other kind inside "+k.String(), func(t *testing.T) {
			t.Parallel()
			for _, part := range [][]string{{"Spec", "ForProvider"}, {"Status", "AtProvider"}} {
				for _, f := range fieldsOf(t, k.part(t, part...)) {
					for _, other := range kinds {
						if name := lowerCamel(other.gvk.Kind); f.json() == name || f.json() == name+"s" {
							t.Errorf("%s holds what is a kind of its own", f)
						}
					}
				}
			}
		})
	}
}

// settingsMirror wants every setting that the cloud lets one choose, at creation or later, and no other, under its name.
func settingsMirror(t *testing.T, k rootKind, v vendor) {
	want := map[string]reflect.Type{}
	maps.Copy(want, leaves(v.creates))
	maps.Copy(want, leaves(v.updates))
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
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), sorted(got)); diff != "" {
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
		elem := f.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		if elem.Kind() != reflect.Struct || elem.PkgPath() != typ.PkgPath() {
			all[camel(name)] = f.Type
			continue
		}
		for below, of := range leaves(elem) {
			all[camel(name)+"."+below] = of
		}
	}
	return all
}

// observationMirrors wants each field of atProvider to be one of the SDK's, and a pointer only if the SDK's is one.
func observationMirrors(t *testing.T, k rootKind, v vendor) {
	theirs := leaves(v.reads)
	for name, typ := range leaves(k.part(t, "Status", "AtProvider")) {
		want, ok := theirs[name]
		switch {
		case !ok:
			t.Errorf("the cloud reports no %s", name)
		case typ != want:
			t.Errorf("%s is of type %s, and of type %s in the SDK", name, typ, want)
		}
	}
}

// linksToPage wants the address of the cloud's page about the very type in the text of the settings.
func linksToPage(t *testing.T, k rootKind, v vendor) {
	text := prose(declarationOf(t, k.part(t, "Spec", "ForProvider")).text)
	page := regexp.MustCompile(`https://favourite\.example\.org/api/v1/[-a-z]+#` + v.reads.Name() + `( |$)`)
	if !page.MatchString(text) {
		t.Errorf("no link to %s in: %s", page, text)
	}
}
