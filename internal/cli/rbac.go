// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/pkg/provider"
)

// The identity of our controllers on the embedded server: a service account that may do what the rules below and the
// providers' own rules list, and nothing else.
const (
	systemNamespace    = "bowline-system"
	controllersAccount = "bowline-controllers"
	fieldManager       = "bowline"
)

// leaseRules lets the controllers elect a leader in their own namespace.
func leaseRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}
}

// applyIdentity makes the controllers' namespace, service account, roles and bindings what they should be.
func applyIdentity(ctx context.Context, c kubernetes.Interface, from []provider.Provider) error {
	rules := provider.CommonRules()
	for _, p := range from {
		own, err := p.Rules()
		if err != nil {
			return err
		}
		rules = append(rules, own...)
	}
	subject := rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(systemNamespace).WithName(controllersAccount)
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	steps := []struct {
		what  string
		apply func() error
	}{
		{"namespace", func() error {
			_, err := c.CoreV1().Namespaces().Apply(ctx, corev1ac.Namespace(systemNamespace), options)
			return err
		}},
		{"service account", func() error {
			account := corev1ac.ServiceAccount(controllersAccount, systemNamespace)
			_, err := c.CoreV1().ServiceAccounts(systemNamespace).Apply(ctx, account, options)
			return err
		}},
		{"cluster role", func() error {
			role := rbacv1ac.ClusterRole(controllersAccount).WithRules(ruleConfigurations(rules)...)
			_, err := c.RbacV1().ClusterRoles().Apply(ctx, role, options)
			return err
		}},
		{"cluster role binding", func() error {
			binding := rbacv1ac.ClusterRoleBinding(controllersAccount).WithSubjects(subject).
				WithRoleRef(roleRef("ClusterRole"))
			_, err := c.RbacV1().ClusterRoleBindings().Apply(ctx, binding, options)
			return err
		}},
		{"role", func() error {
			role := rbacv1ac.Role(controllersAccount, systemNamespace).WithRules(ruleConfigurations(leaseRules())...)
			_, err := c.RbacV1().Roles(systemNamespace).Apply(ctx, role, options)
			return err
		}},
		{"role binding", func() error {
			binding := rbacv1ac.RoleBinding(controllersAccount, systemNamespace).WithSubjects(subject).WithRoleRef(roleRef("Role"))
			_, err := c.RbacV1().RoleBindings(systemNamespace).Apply(ctx, binding, options)
			return err
		}},
	}
	for _, step := range steps {
		if err := step.apply(); err != nil {
			return fmt.Errorf("applying the controllers' %s: %w", step.what, err)
		}
	}
	return nil
}

func roleRef(kind string) *rbacv1ac.RoleRefApplyConfiguration {
	return rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind(kind).WithName(controllersAccount)
}

func ruleConfigurations(rules []rbacv1.PolicyRule) []*rbacv1ac.PolicyRuleApplyConfiguration {
	var all []*rbacv1ac.PolicyRuleApplyConfiguration
	for _, r := range rules {
		all = append(all, rbacv1ac.PolicyRule().WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).
			WithResourceNames(r.ResourceNames...).WithVerbs(r.Verbs...))
	}
	return all
}
