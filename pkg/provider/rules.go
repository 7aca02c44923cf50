// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are the permissions that the controllers of the provider need in addition to CommonRules, with its ExtraRules. It fails
// if Validate does.
func (p Provider) Rules() ([]rbacv1.PolicyRule, error) {
	l, err := p.layout()
	if err != nil {
		return nil, fmt.Errorf("deriving rules: %w", err)
	}
	return slices.Concat(resourcesOf(l.configs).reconcile(), resourcesOf(l.kinds).reconcile(), l.claimRules(), l.targetRules(), p.ExtraRules), nil
}

// claimRules are for the controllers of claims, which also count the claims of a class.
func (l *layout) claimRules() []rbacv1.PolicyRule {
	claims, classes, conditioned, managed := resourcesOf(l.claims), resources{}, resources{}, resources{}
	for _, c := range l.classes {
		claims.add(c.claim)
		map[bool]resources{true: conditioned, false: classes}[c.class.status].add(c.class)
		managed.add(c.managed)
	}
	rules := slices.Concat(claims.reconcile(), conditioned.reconcile(), classes.allow("get", "list", "watch", "patch"), managed.allow("create", "delete"))
	if len(l.claims)+len(l.classes) > 0 { // classes select the namespaces of their claims by labels
		rules = append(rules, core("namespaces", "get", "list", "watch"))
	}
	if len(l.classes) > 0 { // copies of connection Secrets under a former name, others are deleted with their owners; quotas that refuse some
		rules = append(rules, core("secrets", "delete"), core("resourcequotas", "list", "watch"))
	}
	return rules
}

// targetRules are for the controllers of targets, which delete copies of Secrets that are no longer allowed.
func (l *layout) targetRules() []rbacv1.PolicyRule {
	if len(l.targets) == 0 {
		return nil
	}
	return append(resourcesOf(l.targets).reconcile(), core("secrets", "delete"), core("resourcequotas", "list", "watch"))
}

// CommonRules are the permissions that the controllers of every provider need in all namespaces.
func CommonRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		core("secrets", "get", "list", "watch", "create", "patch"), // credentials, connection Secrets
		{ // kinds that use a ProviderConfig which is being deleted; kinds that objects refer to
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"},
		},
		core("events", "get", "create", "patch"),
		core("namespaces", "get"), // to report that one is missing
	}
}

func core(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

type resources map[string][]string

func resourcesOf[T any](parts []part[T]) resources {
	r := resources{}
	for _, p := range parts {
		r.add(p.definition)
	}
	return r
}

func (r resources) add(d definition) {
	if group := d.gvk.Group; !slices.Contains(r[group], d.plural) {
		r[group] = append(r[group], d.plural)
	}
}

func (r resources) allow(verbs ...string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(r)) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Sorted(slices.Values(r[group])), Verbs: verbs})
	}
	return rules
}

// reconcile allows controllers to watch objects and to patch metadata, spec and status.
func (r resources) reconcile() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, rule := range r.allow("get", "list", "watch", "patch") {
		status := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Verbs: []string{"patch"}}
		for _, resource := range rule.Resources {
			status.Resources = append(status.Resources, resource+"/status")
		}
		rules = append(rules, rule, status)
	}
	return rules
}
