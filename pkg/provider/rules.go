// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are what the controllers of the provider's kinds and configurations must be allowed, and its ExtraRules. What all
// providers need in addition is CommonRules. A provider that Validate finds mistakes in has no rules.
func (p Provider) Rules() ([]rbacv1.PolicyRule, error) {
	l, err := p.layout()
	if err != nil {
		return nil, fmt.Errorf("deriving rules: %w", err)
	}
	kinds, configs := byGroup{}, byGroup{}
	for _, k := range l.kinds {
		kinds.add(k.gvk.Group, k.plural)
	}
	for _, c := range l.configs {
		configs.add(c.gvk.Group, c.plural)
	}
	return slices.Concat(configs.rules(), kinds.rules(), p.ExtraRules), nil
}

// CommonRules are what the controllers of every provider must be allowed in all namespaces.
func CommonRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{ // credentials of configurations are read; connection secrets are written, and go with their owners
			APIGroups: []string{""}, Resources: []string{"secrets"},
			Verbs: []string{"get", "list", "watch", "create", "patch"},
		},
		{ // which kinds use a configuration that is being deleted; when a kind that objects refer to is installed
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"},
		},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}},
	}
}

// byGroup holds resources by API group.
type byGroup map[string][]string

func (b byGroup) add(group, resource string) { b[group] = append(b[group], resource) }

// rules let controllers look at objects, and write their metadata, specs and statuses.
func (b byGroup) rules() []rbacv1.PolicyRule {
	groups := make([]string, 0, len(b))
	for group := range b {
		groups = append(groups, group)
	}
	slices.Sort(groups)
	var rules []rbacv1.PolicyRule
	for _, group := range groups {
		resources := slices.Sorted(slices.Values(b[group]))
		statuses := make([]string, 0, len(resources))
		for _, r := range resources {
			statuses = append(statuses, r+"/status")
		}
		rules = append(rules,
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: statuses, Verbs: []string{"patch"}})
	}
	return rules
}
