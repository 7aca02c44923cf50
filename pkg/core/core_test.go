// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/pkg/core"
)

// Targets and applications get the permissions they need besides provider.CommonRules, and no others. The tests of their controllers prove that
// they are enough.
func TestRulesOfTargets(t *testing.T) {
	t.Parallel()
	all, err := core.Provider().Rules()
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r rbacv1.PolicyRule) bool {
		return !slices.Contains(r.APIGroups, "workload.crossplane.io") && !slices.Contains(r.Resources, "secrets")
	})
	const objects = "kubernetesapplicationresources"
	rule := func(resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"workload.crossplane.io"}, Resources: resources, Verbs: verbs}
	}
	reconcile := []string{"get", "list", "watch", "patch"}
	want := []rbacv1.PolicyRule{
		rule([]string{"kubernetestargets"}, reconcile...),
		rule([]string{"kubernetestargets/status"}, "patch"),
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}},
		rule([]string{objects}, "list"),
		rule([]string{objects, "kubernetesapplications"}, reconcile...),
		rule([]string{objects + "/status", "kubernetesapplications/status"}, "patch"),
		rule([]string{objects}, "create", "delete"),
	}
	t.Run("targets are written, copies are removed, and managed resources are left alone (R305, N27)", func(t *testing.T) {
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func Example() {
	p := core.Provider()
	fmt.Println(p.Name, len(p.Kinds), len(p.Claims), len(p.Targets))
	// Output: core 0 6 1
}
