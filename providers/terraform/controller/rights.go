// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// RoleName is the ClusterRole with the rights of the controllers on the kinds of Terraform providers, whose groups are known at run time only.
// An admission policy keeps other groups out of it.
const RoleName = "bowline-terraform"

// Rules are what the controllers need in all namespaces besides the rights in the role.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"terraformproviders"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"terraformproviders/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{RoleName}, Verbs: []string{"get", "patch", "escalate"}},
	}
}

// grant adds the groups of a provider to the role. Managed resources of some definitions are created for claims, and deleted with them; they
// are cluster-scoped (N28).
func (r *Reconciler) grant(ctx context.Context, name string, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	cluster := kinds.Group(name, apiextensionsv1.ClusterScoped)
	wanted := []rbacv1.PolicyRule{{
		APIGroups: []string{cluster, kinds.Group(name, apiextensionsv1.NamespaceScoped)},
		Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"},
	}}
	claimed := rbacv1.PolicyRule{APIGroups: []string{cluster}, Verbs: []string{"create", "delete"}}
	for _, d := range definitions {
		if d.Spec.Scope == apiextensionsv1.ClusterScoped {
			claimed.Resources = append(claimed.Resources, d.Spec.Names.Plural)
		}
	}
	if len(claimed.Resources) > 0 {
		wanted = append(wanted, claimed)
	}
	others := func(rule rbacv1.PolicyRule) bool { return !slices.Contains(rule.APIGroups, cluster) }
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		role := &rbacv1.ClusterRole{}
		if err := r.live.Get(ctx, client.ObjectKey{Name: RoleName}, role); err != nil {
			return fmt.Errorf("reading ClusterRole %s, which `bowline rbac` prints: %w", RoleName, err)
		}
		before := role.DeepCopy()
		if equality.Semantic.DeepEqual(slices.DeleteFunc(slices.Clone(role.Rules), others), wanted) {
			return nil
		}
		role.Rules = append(slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return !others(rule) }), wanted...)
		return r.client.Patch(ctx, role, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
