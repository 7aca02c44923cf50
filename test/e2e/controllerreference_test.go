// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

// Scenario 9: two owners each have a network and a subnet of the same labels, and the subnets find the right ones.
func controllerReference(t *testing.T, s *stage) {
	const namespace = "owners"
	s.newNamespace(t, namespace)
	networks, subnets := map[string]*networkv1alpha3.Network{}, map[string]*networkv1alpha3.Subnet{}
	for _, name := range []string{"one", "other"} {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		create(t, s.Plane, owner)
		owned := metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": "shop"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		}
		part := &networkv1alpha3.Subnet{ObjectMeta: owned}
		part.Spec.ForProvider.CIDRBlock = new("10.0.1.0/24")
		part.Spec.ForProvider.NetworkIDSelector = &xpv1.Selector{MatchControllerRef: new(true), MatchLabels: map[string]string{"app": "shop"}}
		whole := &networkv1alpha3.Network{ObjectMeta: *owned.DeepCopy()}
		whole.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
		networks[name], subnets[name] = whole, part
	}
	for _, name := range []string{"other", "one"} {
		create(t, s.Plane, subnets[name])
		create(t, s.Plane, networks[name])
	}
	for name, part := range subnets {
		awaitSettled(t, s.Plane, networks[name], part)
		want := meta.GetExternalName(networks[name])
		have, err := s.cloud.Subnets.Get(t.Context(), meta.GetExternalName(part))
		if err != nil || have.NetworkID != want || part.Spec.ForProvider.NetworkIDRef.Name != name {
			t.Errorf("%s refers to %+v, the cloud has %+v (%v), want network %s", name, part.Spec.ForProvider.NetworkIDRef, have, err, want)
		}
	}
	s.kubectl(t, "delete", "namespace", namespace, "--timeout", within.String())
}
