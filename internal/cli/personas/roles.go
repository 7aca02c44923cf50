// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package personas derives the cluster roles of people from the definitions of kinds.
//
//	           claims,  classes   managed resources and configurations   Secrets
//	           targets,           cluster-scoped      namespaced
//	           workloads
//	view       read     read      -                   -                  -
//	edit       write    read      -                   -                  read
//	admin      write    write     write               read               read
//	browse     -        read      -                   -                  -
//
// browse also reads the heartbeat of the controllers.
//
// The roles view, edit and admin are aggregated to those of Kubernetes with the same names, so an editor of a namespace may use
// claims in it. They are meant for bindings in a namespace, where they grant nothing on cluster-scoped kinds such as classes; browse
// is for that and is bound for the whole cluster.
//
// Kubernetes keeps the events of cluster-scoped objects in namespace default. A role that is bound there shows the events of all
// managed resources and configurations.
//
// No role grants writing managed resources in a namespace, not even admin. A namespaced managed resource may use every
// ClusterProviderConfig, and so the accounts of the platform: its author could create what no class offers, without the limits of
// classes, and adopt what carries the label of the namespace. Grant that right on purpose, with a role of your own.
package personas

import (
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/cli/heartbeat"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// Names of the cluster roles.
const (
	View   = "bowline-view"
	Edit   = "bowline-edit"
	Admin  = "bowline-admin"
	Browse = "bowline-browse"
)

// Roles returns the cluster roles for the kinds of these definitions, by their categories. A kind without one of the categories claims,
// targets, workloads, classes, managed and provider is in no role.
func Roles(definitions ...*apiextensionsv1.CustomResourceDefinition) []rbacv1.ClusterRole {
	k := classify(definitions)
	return []rbacv1.ClusterRole{
		role(View, "view", k.claims.may(read()), k.classes.may(read()), insight()),
		role(Edit, "edit", k.claims.may(write()), k.classes.may(read()), secrets(), insight()),
		role(Admin, "admin", k.claims.may(write()), k.classes.may(write()), k.clusterScoped.may(write()), k.namespaced.may(read()),
			secrets(), insight()),
		role(Browse, "", k.classes.may(read()), controllers()),
	}
}

// controllers grants knowing whether the controllers run.
func controllers() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"},
		ResourceNames: []string{heartbeat.Name}, Verbs: []string{"get"}}}
}

func read() []string { return []string{"get", "list", "watch"} }

// write covers objects, not their statuses, which controllers write.
func write() []string { return append(read(), "create", "update", "patch", "delete") }

// secrets grants reading connection Secrets. Only controllers write them.
func secrets() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: read()}}
}

// insight grants reading what explains refusals: events, and the quotas of the namespace.
func insight() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: read()},
		{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: read()},
	}
}

func role(name, aggregated string, rules ...[]rbacv1.PolicyRule) rbacv1.ClusterRole {
	r := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: slices.Concat(rules...)}
	if aggregated != "" {
		r.Labels = map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + aggregated: "true"}
	}
	return r
}

// kinds are the resources of each role, by API group.
type kinds struct {
	claims, classes           byGroup // targets and workloads count as claims: teams write them
	clusterScoped, namespaced byGroup // managed resources and their configurations
}

// WrittenByTeams is true for a kind whose objects a team may create in its namespaces and that stand for something in an external system:
// claims and targets.
func WrittenByTeams(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.Spec.Scope == apiextensionsv1.NamespaceScoped && !crd.IsIn("workloads", d.Spec.Names.Categories) && len(classify([]*apiextensionsv1.CustomResourceDefinition{d}).claims) > 0
}

func classify(definitions []*apiextensionsv1.CustomResourceDefinition) kinds {
	k := kinds{claims: byGroup{}, classes: byGroup{}, clusterScoped: byGroup{}, namespaced: byGroup{}}
	for _, d := range definitions {
		is := func(category string) bool { return crd.IsIn(category, d.Spec.Names.Categories) }
		var in byGroup
		switch { // a kind with several categories counts for the most restricted one
		case (is("managed") || is("provider")) && d.Spec.Scope == apiextensionsv1.ClusterScoped:
			in = k.clusterScoped
		case is("managed") || is("provider"):
			in = k.namespaced
		case is("classes"):
			in = k.classes
		case is("claims"), is("targets"), is("workloads"):
			in = k.claims
		default:
			continue
		}
		in[d.Spec.Group] = append(in[d.Spec.Group], d.Spec.Names.Plural)
	}
	return k
}

type byGroup map[string][]string

// may returns one rule for each group, sorted.
func (b byGroup) may(verbs []string) (rules []rbacv1.PolicyRule) {
	for _, group := range slices.Sorted(maps.Keys(b)) {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{group}, Resources: slices.Sorted(slices.Values(b[group])), Verbs: verbs,
		})
	}
	return rules
}
