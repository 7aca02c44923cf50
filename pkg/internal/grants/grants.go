// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grants makes RBAC rules of the resources that controllers use.
package grants

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Core is a rule about a resource of the core of Kubernetes.
func Core(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// Resources are names of resources by API group.
type Resources map[string][]string

// Add adds a resource once.
func (r Resources) Add(group, resource string) {
	if !slices.Contains(r[group], resource) {
		r[group] = append(r[group], resource)
	}
}

// Allow returns rules with some verbs, in order.
func (r Resources) Allow(verbs ...string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, group := range slices.Sorted(maps.Keys(r)) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Sorted(slices.Values(r[group])), Verbs: verbs})
	}
	return rules
}

// Reconcile allows controllers to watch objects and to patch metadata, spec and status.
func (r Resources) Reconcile() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, rule := range r.Allow("get", "list", "watch", "patch") {
		status := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Verbs: []string{"patch"}}
		for _, resource := range rule.Resources {
			status.Resources = append(status.Resources, resource+"/status")
		}
		rules = append(rules, rule, status)
	}
	return rules
}
