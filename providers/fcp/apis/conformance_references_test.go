// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

// References of namespaced objects stay in their namespace, whatever others have under the same names and labels.
func TestNamespaceOfReferences(t *testing.T) {
	t.Parallel()
	env := newReferences(t) // has a Network a, net-a, with the label app=shop
	elsewhere := func(name, externalName string) *networkv1alpha3.Network {
		n := &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop", "only": name}}}
		n.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
		meta.SetExternalName(n, externalName)
		return n
	}
	controlplanetest.NewWithScheme(t, env.Scheme, elsewhere("a", "net-foreign-a"), elsewhere("c", "net-foreign-c"))
	for name, tc := range map[string]struct {
		given networkv1alpha3.SubnetParameters
		want  string // empty: unresolved
	}{
		"R172 a name of both namespaces":   {networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "a"}}, "net-a"},
		"R172 a name of another namespace": {networkv1alpha3.SubnetParameters{NetworkIDRef: &xpv1.Reference{Name: "c"}}, ""},
		"R172 labels of both namespaces":   {networkv1alpha3.SubnetParameters{NetworkIDSelector: shop()}, "net-a"},
		"R172 labels of another namespace": {networkv1alpha3.SubnetParameters{NetworkIDSelector: &xpv1.Selector{MatchLabels: map[string]string{"only": "c"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &networkv1alpha3.Subnet{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "s"}}
			s.Spec.ForProvider = tc.given
			if err := s.ResolveReferences(t.Context(), env.Client); reference.IsUnresolved(err) != (tc.want == "") {
				t.Errorf("got %v", err)
			}
			if got := ptr.Deref(s.Spec.ForProvider.NetworkID, ""); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
