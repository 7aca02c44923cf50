// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// The controllers run as a service account that may do what they need, which the other tests prove, and nothing of this.
func controllersMayNot(t *testing.T, s *stage) {
	const (
		fcp, rbac, extensions = "database.fcp.crossplane.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io"
		network, claims       = "network.fcp.crossplane.io", "database.crossplane.io"
	)
	may := func(a authorizationv1.ResourceAttributes) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:bowline-system:bowline-controllers",
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:bowline-system", "system:authenticated"},
			ResourceAttributes: &a,
		}}
		s.Create(t, review)
		return review.Status.Allowed
	}
	for _, needed := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "secrets", Namespace: "default"}, {Verb: "patch", Group: fcp, Resource: "favouritedbinstances"},
	} {
		if !may(needed) {
			t.Fatalf("the controllers need, and may not: %+v. Is their account renamed?", needed)
		}
	}
	for _, request := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "configmaps", Namespace: "default"},
		{Verb: "create", Group: network, Resource: "networks"}, // no claim gets one
		{Verb: "delete", Group: network, Resource: "networks"},
		{Verb: "delete", Group: fcp, Resource: "favouritedbinstanceclasses"},
		{Verb: "delete", Group: claims, Resource: "postgresqlinstances"},
		{Verb: "create", Group: "fcp.crossplane.io", Resource: "providerconfigs"},
		{Verb: "delete", Group: "fcp.crossplane.io", Resource: "providerconfigs"},
		{Verb: "create", Group: extensions, Resource: "customresourcedefinitions"},
		{Verb: "patch", Group: extensions, Resource: "customresourcedefinitions"},
		{Verb: "create", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: rbac, Resource: "clusterrolebindings"},
		{Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		{Verb: "bind", Group: rbac, Resource: "clusterroles"},
		{Verb: "impersonate", Resource: "users"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "bowline-system"},
		{Verb: "create", Resource: "namespaces"},
		{Verb: "delete", Resource: "namespaces"},
		{Verb: "list", Resource: "serviceaccounts", Namespace: "default"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "default"},
		{Verb: "*", Group: "*", Resource: "*"},
	} {
		if may(request) {
			t.Errorf("the controllers may: %+v", request)
		}
	}
}
