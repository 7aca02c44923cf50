// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/pkg/internal/grants"
)

// Rules are the permissions that the controllers of the provider need in addition to CommonRules, with its ExtraRules. It fails
// if Validate does.
func (p Provider) Rules() ([]rbacv1.PolicyRule, error) {
	l, err := p.layout()
	if err != nil {
		return nil, fmt.Errorf("deriving rules: %w", err)
	}
	return slices.Concat(resourcesOf(l.configs).Reconcile(), resourcesOf(l.kinds).Reconcile(), l.claimRules(), l.targetRules(), p.workloadRules(), p.ExtraRules), nil
}

// claimRules are for the controllers of claims, which also count the claims of a class.
func (l *layout) claimRules() []rbacv1.PolicyRule {
	claims, classes, conditioned, managed := resourcesOf(l.claims), grants.Resources{}, grants.Resources{}, grants.Resources{}
	for _, c := range l.classes {
		c.claim.addTo(claims)
		c.class.addTo(map[bool]grants.Resources{true: conditioned, false: classes}[c.class.status])
		if c.Managed != nil {
			c.managed.addTo(managed)
		}
	}
	rules := slices.Concat(claims.Reconcile(), conditioned.Reconcile(), classes.Allow("get", "list", "watch", "patch"), managed.Allow("create", "delete"))
	if len(l.claims)+len(l.classes) > 0 { // classes select the namespaces of their claims by labels
		rules = append(rules, grants.Core("namespaces", "get", "list", "watch"))
	}
	if len(l.classes) > 0 { // copies of connection Secrets under a former name, others are deleted with their owners; quotas that refuse some
		rules = append(rules, grants.Core("secrets", "delete"), grants.Core("resourcequotas", "list", "watch"))
	}
	return rules
}

// targetRules are for the controller of targets, which deletes copies of Secrets that are no longer allowed.
func (l *layout) targetRules() []rbacv1.PolicyRule {
	targets := resourcesOf(l.targets)
	if len(targets) == 0 && l.connects() {
		targets.Add(targetKind.Group, "kubernetestargets")
	}
	if len(targets) == 0 {
		return nil
	}
	rules := append(targets.Reconcile(), grants.Core("secrets", "delete"), grants.Core("resourcequotas", "list", "watch"))
	return append(rules, grants.Resources{targetKind.Group: {"kubernetesapplicationresources"}}.Allow("list")...) // a target in use is kept
}

// workloadRules are for the controllers of applications.
func (p Provider) workloadRules() []rbacv1.PolicyRule {
	if !p.RunsWorkloads {
		return nil
	}
	const resources = "kubernetesapplicationresources"
	all := grants.Resources{targetKind.Group: {"kubernetesapplications", resources}}
	return append(all.Reconcile(), grants.Resources{targetKind.Group: {resources}}.Allow("create", "delete")...)
}

// CommonRules are the permissions that the controllers of every provider need in all namespaces.
func CommonRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		grants.Core("secrets", "get", "list", "watch", "create", "patch"), // credentials, connection Secrets
		{ // kinds that use a ProviderConfig which is being deleted; kinds that objects refer to
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"},
		},
		grants.Core("events", "get", "create", "patch"),
		grants.Core("namespaces", "get"), // to report that one is missing
	}
}

func (d definition) addTo(resources grants.Resources) { resources.Add(d.gvk.Group, d.plural) }

func resourcesOf[T any](parts []part[T]) grants.Resources {
	all := grants.Resources{}
	for _, p := range parts {
		p.addTo(all)
	}
	return all
}
