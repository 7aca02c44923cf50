// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
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
	return slices.Concat(configs.rules(), kinds.rules(), l.claimRules(), l.targetRules(), p.ExtraRules), nil
}

// claimRules let the controllers of claims write claims and what they become, and count in classes who uses them.
func (l *layout) claimRules() []rbacv1.PolicyRule {
	claims, classes, made := byGroup{}, byGroup{}, byGroup{}
	for _, c := range l.claims {
		claims.add(c.gvk.Group, c.plural)
	}
	for _, c := range l.classes {
		claims.add(c.claim.Group, c.claims)
		classes.add(c.class.Group, c.classes)
		made.add(c.managed.Group, c.made)
	}
	rules := slices.Concat(claims.rules(), classes.only("get", "list", "watch", "patch"), made.only("create", "delete"))
	if len(l.claims)+len(l.classes) > 0 { // classes choose the namespaces of their claims by labels
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}})
	}
	if len(l.classes) > 0 { // copies whose claim is content with another name go; others go with their owners
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}})
	}
	return rules
}

// targetRules let the controllers of targets write targets, and remove copies of Secrets that are allowed no more. Managed
// resources they read as those do who serve them.
func (l *layout) targetRules() []rbacv1.PolicyRule {
	if len(l.targets) == 0 {
		return nil
	}
	targets := byGroup{}
	for _, t := range l.targets {
		targets.add(t.gvk.Group, t.plural)
	}
	return append(targets.rules(), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}})
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

func (b byGroup) add(group, resource string) {
	if !slices.Contains(b[group], resource) {
		b[group] = append(b[group], resource)
	}
}

// only lets controllers do some things with objects.
func (b byGroup) only(verbs ...string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(b)) {
		resources := slices.Sorted(slices.Values(b[group]))
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs})
	}
	return rules
}

// rules let controllers look at objects, and write their metadata, specs and statuses.
func (b byGroup) rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(b)) {
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
