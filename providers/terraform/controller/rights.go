// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// RoleName is the ClusterRole with the rights of the controllers on the kinds of Terraform providers, whose groups are known at run time only.
// An admission policy keeps other groups out of it. The Role of this name has StateRules.
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

// StateRules are what the controllers need in the namespace of the states, besides Rules.
func StateRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}}} // of objects that are gone
}

// grant adds the groups of a provider to the role.
func (r *Reconciler) grant(ctx context.Context, name string) error {
	wanted := rbacv1.PolicyRule{
		APIGroups: []string{kinds.Group(name, apiextensionsv1.ClusterScoped), kinds.Group(name, apiextensionsv1.NamespaceScoped)},
		Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"},
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		role := &rbacv1.ClusterRole{}
		if err := r.live.Get(ctx, client.ObjectKey{Name: RoleName}, role); err != nil {
			return fmt.Errorf("reading ClusterRole %s, which `bowline rbac` prints: %w", RoleName, err)
		}
		has := func(rule rbacv1.PolicyRule) bool { return slices.Equal(rule.APIGroups, wanted.APIGroups) }
		if slices.ContainsFunc(role.Rules, has) {
			return nil
		}
		before := role.DeepCopy()
		role.Rules = append(role.Rules, wanted)
		return r.client.Patch(ctx, role, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
