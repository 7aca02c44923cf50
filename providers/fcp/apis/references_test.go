// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

// newReferences has a Network a and two Subnets a and b, each with its name in the cloud and the label app=shop, and a
// Network b that the cloud does not have yet. Another namespace has Networks a and c with the same label.
func newReferences(t *testing.T) *controlplanetest.Env {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	named := func(name, externalName string) metav1.ObjectMeta {
		o := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop"}}
		meta.SetExternalName(&o, externalName)
		return o
	}
	observe := xpv1.NamespacedResourceSpec{ManagementPolicies: xpv1.ManagementPolicies{xpv1.ManagementActionObserve}}
	foreign := func(name, externalName string) *networkv1alpha3.Network {
		n := &networkv1alpha3.Network{ObjectMeta: named(name, externalName), Spec: networkv1alpha3.NetworkSpec{NamespacedResourceSpec: observe}}
		n.Labels["only"] = name
		return n
	}
	controlplanetest.NewWithScheme(t, s, foreign("a", "net-foreign-a"), foreign("c", "net-foreign-c"))
	return controlplanetest.NewWithScheme(t, s,
		&networkv1alpha3.Network{ObjectMeta: named("a", "net-a"), Spec: networkv1alpha3.NetworkSpec{NamespacedResourceSpec: observe}},
		&networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: networkv1alpha3.NetworkSpec{NamespacedResourceSpec: observe}},
		&networkv1alpha3.Subnet{ObjectMeta: named("a", "sub-a"), Spec: networkv1alpha3.SubnetSpec{NamespacedResourceSpec: observe}},
		&networkv1alpha3.Subnet{ObjectMeta: named("b", "sub-b"), Spec: networkv1alpha3.SubnetSpec{NamespacedResourceSpec: observe}},
	)
}

func shop() *xpv1.Selector { return &xpv1.Selector{MatchLabels: map[string]string{"app": "shop"}} }

func TestSubnetReferences(t *testing.T) {
	t.Parallel()
	env := newReferences(t)
	for name, tc := range map[string]struct {
		given, want networkv1alpha3.SubnetParameters
		unresolved  bool
	}{
		"by value (R160)": {
			given: networkv1alpha3.SubnetParameters{NetworkID: new("net-x"), NetworkIDRef: &xpv1.Reference{Name: "a"}},
			want:  networkv1alpha3.SubnetParameters{NetworkID: new("net-x"), NetworkIDRef: &xpv1.Reference{Name: "a"}},
		},
		"by a name of both namespaces (R161 R172)": {
			given: networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "a"}},
			want:  networkv1alpha3.SubnetParameters{NetworkID: new("net-a"), NetworkIDRef: &xpv1.Reference{Name: "a"}},
		},
		"by labels of both namespaces (R162 R165 R172)": {
			given: networkv1alpha3.SubnetParameters{NetworkIDSelector: shop()},
			want:  networkv1alpha3.SubnetParameters{NetworkID: new("net-a"), NetworkIDRef: &xpv1.Reference{Name: "a"}, NetworkIDSelector: shop()},
		},
		"the network does not exist yet (R167)": {
			given:      networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "b"}},
			want:       networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "b"}},
			unresolved: true,
		},
		"a name of another namespace (R172)": {
			given:      networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "c"}},
			want:       networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "c"}},
			unresolved: true,
		},
		"labels of another namespace (R172)": {
			given:      networkv1alpha3.SubnetParameters{NetworkIDSelector: &xpv1.Selector{MatchLabels: map[string]string{"only": "c"}}},
			want:       networkv1alpha3.SubnetParameters{NetworkIDSelector: &xpv1.Selector{MatchLabels: map[string]string{"only": "c"}}},
			unresolved: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &networkv1alpha3.Subnet{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "s"}}
			s.Spec.ForProvider = tc.given
			if err := s.ResolveReferences(t.Context(), env.Client); reference.IsUnresolved(err) != tc.unresolved || (err != nil) != tc.unresolved {
				t.Errorf("unresolved: %t, got %v", tc.unresolved, err)
			}
			if diff := cmp.Diff(tc.want, s.Spec.ForProvider); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNodeGroupReferences(t *testing.T) {
	t.Parallel()
	env := newReferences(t)
	both := []xpv1.Reference{{Name: "a"}, {Name: "b"}}
	for name, tc := range map[string]struct{ given, want computev1alpha3.NodeGroupSpec }{
		"by names, in their order (R170)": {
			given: computev1alpha3.NodeGroupSpec{ForProvider: computev1alpha3.NodeGroupParameters{SubnetIDRefs: reversed(both)}},
			want: computev1alpha3.NodeGroupSpec{ForProvider: computev1alpha3.NodeGroupParameters{
				SubnetIDs: []string{"sub-b", "sub-a"}, SubnetIDRefs: reversed(both),
			}},
		},
		"by labels, all that match (R170, R165)": {
			given: computev1alpha3.NodeGroupSpec{ForProvider: computev1alpha3.NodeGroupParameters{SubnetIDSelector: shop()}},
			want: computev1alpha3.NodeGroupSpec{ForProvider: computev1alpha3.NodeGroupParameters{
				SubnetIDs: []string{"sub-a", "sub-b"}, SubnetIDRefs: both, SubnetIDSelector: shop(),
			}},
		},
		"in initProvider (R147, R170)": {
			given: computev1alpha3.NodeGroupSpec{InitProvider: computev1alpha3.NodeGroupInitParameters{SubnetIDSelector: shop()}},
			want: computev1alpha3.NodeGroupSpec{InitProvider: computev1alpha3.NodeGroupInitParameters{
				SubnetIDs: []string{"sub-a", "sub-b"}, SubnetIDRefs: both, SubnetIDSelector: shop(),
			}},
		},
		"forProvider is enough (R142)": {
			given: computev1alpha3.NodeGroupSpec{
				ForProvider:  computev1alpha3.NodeGroupParameters{SubnetIDs: []string{"sub-x"}},
				InitProvider: computev1alpha3.NodeGroupInitParameters{SubnetIDRefs: []xpv1.Reference{{Name: "missing"}}},
			},
			want: computev1alpha3.NodeGroupSpec{
				ForProvider:  computev1alpha3.NodeGroupParameters{SubnetIDs: []string{"sub-x"}},
				InitProvider: computev1alpha3.NodeGroupInitParameters{SubnetIDRefs: []xpv1.Reference{{Name: "missing"}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &computev1alpha3.NodeGroup{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "g"}, Spec: tc.given}
			if err := g.ResolveReferences(t.Context(), env.Client); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.want, g.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func reversed(refs []xpv1.Reference) []xpv1.Reference {
	refs = slices.Clone(refs)
	slices.Reverse(refs)
	return refs
}
