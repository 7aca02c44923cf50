// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// The controllers work as a service account that may do what they need, which the other tests prove by working, and
// nothing of this.
func controllersMayNot(t *testing.T, s *stage) {
	account := "--as=system:serviceaccount:bowline-system:bowline-controllers"
	may := func(request string) bool {
		out, err := s.Run(t.Context(), append(append([]string{"kubectl", "auth", "can-i"}, strings.Fields(request)...), account)...)
		return err == nil && strings.HasSuffix(strings.TrimSpace(out), "yes") // a warning may come before
	}
	if !may("create secrets -n default") || !may("patch favouritedbinstances") {
		t.Fatal("the controllers may not do what they need; the name of their account must have changed")
	}
	for _, request := range []string{
		"get configmaps -n default",
		"create networks.network.fcp.crossplane.io", // nothing is made of these for claims
		"delete networks.network.fcp.crossplane.io",
		"delete favouritedbinstanceclasses",
		"delete postgresqlinstances",
		"create providerconfigs.fcp.crossplane.io",
		"delete providerconfigs.fcp.crossplane.io",
		"create customresourcedefinitions",
		"patch customresourcedefinitions",
		"create clusterroles",
		"create clusterrolebindings",
		"escalate clusterroles",
		"bind clusterroles",
		"impersonate users",
		"create serviceaccounts/token -n bowline-system",
		"create namespaces",
		"delete namespaces",
		"list serviceaccounts -n default",
		"create leases -n default",
		"* *",
	} {
		if may(request) {
			t.Errorf("the controllers may: %s", request)
		}
	}
}
