// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package personas_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/cli/personas"
)

func definition(group, plural string, scope apiextensionsv1.ResourceScope, categories ...string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Spec.Group, d.Spec.Scope = group, scope
	d.Spec.Names.Plural, d.Spec.Names.Categories = plural, categories
	return d
}

// definitions has one of everything.
func definitions() []*apiextensionsv1.CustomResourceDefinition {
	const cluster, namespaced = apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped
	return []*apiextensionsv1.CustomResourceDefinition{
		definition("shop", "claims", namespaced, "claim", "claims"),
		definition("work", "targets", namespaced, "target", "targets"),
		definition("cloud", "classes", cluster, "class", "classes"),
		definition("cloud", "databases", cluster, "crossplane", "managed", "cloud"),
		definition("cloud", "providerconfigs", cluster, "crossplane", "provider", "cloud"),
		definition("cloud.m", "databases", namespaced, "crossplane", "managed", "cloud"),
		definition("cloud.m", "providerconfigs", namespaced, "crossplane", "provider", "cloud"),
		definition("cloud.m", "clusterproviderconfigs", cluster, "crossplane", "provider", "cloud"),
		definition("odd", "claims", namespaced, "claims", "managed"),
		definition("odd", "others", namespaced, "all"),
	}
}

func TestRoles(t *testing.T) {
	const read, write = "get,list,watch", "get,list,watch,create,update,patch,delete"
	cases := map[string]struct {
		reason     string
		aggregated string
		want       map[string]string // verbs by resource
	}{
		personas.View: {
			reason:     "A viewer sees what teams asked for, claims and targets, and never a Secret.",
			aggregated: "view",
			want: map[string]string{"claims.shop": read, "targets.work": read, "classes.cloud": read, "resourcequotas.": read, "events.": read,
				"events.events.k8s.io": read},
		},
		personas.Edit: {
			reason:     "A team writes claims and targets and reads Secrets; it writes no status, no class and no managed resource.",
			aggregated: "edit",
			want: map[string]string{"claims.shop": write, "targets.work": write, "classes.cloud": read, "secrets.": read,
				"resourcequotas.": read, "events.": read, "events.events.k8s.io": read},
		},
		personas.Admin: {
			reason:     "An admin of the cluster writes all but what an admin of a namespace could use to go around classes.",
			aggregated: "admin",
			want: map[string]string{"claims.shop": write, "targets.work": write, "classes.cloud": write, "databases.cloud": write,
				"providerconfigs.cloud": write, "clusterproviderconfigs.cloud.m": write, "databases.cloud.m": read, "providerconfigs.cloud.m": read, "claims.odd": read,
				"secrets.": read, "resourcequotas.": read, "events.": read, "events.events.k8s.io": read},
		},
		personas.Browse: {
			reason: "Every team sees the classes of the cluster and whether controllers run, and nothing else of it.",
			want:   map[string]string{"classes.cloud": read, "leases.coordination.k8s.io": "get"},
		},
	}
	roles := personas.Roles(definitions()...)
	if len(roles) != len(cases) {
		t.Errorf("want %d roles, got %d", len(cases), len(roles))
	}
	for _, role := range roles {
		tc := cases[role.Name]
		if diff := cmp.Diff(tc.want, verbs(role)); diff != "" {
			t.Errorf("%s: %s\n-want +got:\n%s", role.Name, tc.reason, diff)
		}
		if got := role.Labels["rbac.authorization.k8s.io/aggregate-to-"+tc.aggregated] == "true"; got != (tc.aggregated != "") ||
			len(role.Labels) > 1 {
			t.Errorf("%s is to be aggregated to %q only, has labels %v", role.Name, tc.aggregated, role.Labels)
		}
	}
}

// What a quota of a team limits is what its role lets it create: another kind would be free of limits.
func TestWrittenByTeams(t *testing.T) {
	var got []string
	for _, d := range definitions() {
		if personas.WrittenByTeams(d) {
			got = append(got, d.Spec.Names.Plural+"."+d.Spec.Group)
		}
	}
	if diff := cmp.Diff([]string{"claims.shop", "targets.work"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// verbs returns what a role allows, by resource and group.
func verbs(role rbacv1.ClusterRole) map[string]string {
	all := map[string]string{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if all[resource+"."+group] != "" {
						all[resource+"."+group] += ","
					}
					all[resource+"."+group] += verb
				}
			}
		}
	}
	return all
}

// Every start applies the roles, so they must not depend on the order of the definitions.
func TestRolesAreTheSameEachTime(t *testing.T) {
	turned := definitions()
	slices.Reverse(turned)
	if diff := cmp.Diff(personas.Roles(definitions()...), personas.Roles(turned...)); diff != "" {
		t.Error(diff)
	}
}
