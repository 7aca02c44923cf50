// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

const user = "system:serviceaccount:" + system + ":" + account

// The quickstart works with exactly the rights in the manifests: nothing is denied, and nothing is granted that is not used, there or by
// what unused names.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	w := newWorld(t)
	w.replica(t, "first")
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	w.do(w.client.Create(t.Context(), team))
	claim := &databasev1alpha1.PostgreSQLInstance{}
	w.do(yaml.Unmarshal(w.example("claim.yaml"), claim))
	claim.Namespace = team.Name
	w.do(w.client.Create(t.Context(), claim))
	plane.Eventually(t, patience, "the claim is bound", func(ctx context.Context) error {
		b, err := inspect.Bound(ctx, w.client, claim)
		if err != nil {
			return err
		}
		return inspect.OpensPostgreSQL(ctx, b.Copy.Data)
	})
	w.do(w.client.Delete(t.Context(), claim))
	plane.Eventually(t, patience, "the claim and its database are gone", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the claim is there: %w", err)
		}
		left, err := w.project.All(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left: %v", left)
		}
		return err
	})
	used, denied := w.used()
	if len(denied) > 0 {
		t.Errorf("denied: %v", denied)
	}
	for _, right := range w.granted() {
		if !slices.Contains(used, right) && unused[right] == "" {
			t.Errorf("granted and not used: %s", right)
		}
	}
}

// unused are the rights that the quickstart does not need, with what does.
var unused = map[string]string{
	"get class":            "a claim reads its class again after a conflict",
	"patch class":          "a class that limits its claims counts them",
	"get events":           "an event that happens again is counted",
	"patch events":         "an event that happens again is counted",
	"get target":           "targets bind to clusters",
	"list target":          "targets bind to clusters",
	"patch target":         "targets bind to clusters",
	"patch target/status":  "targets bind to clusters",
	"watch resourcequotas": "a Secret that a quota refused is tried again when there is room",
	"list resourcequotas":  "servers that do not stream lists",
	"list claim":           "servers that do not stream lists",
	"list provider":        "servers that do not stream lists",
	"list namespaces":      "servers that do not stream lists",
}

// rights are what is done with objects, such as "patch claims/status". Kinds of the same role count as one, named after their category.
type rights map[string]bool

func (r rights) add(verb, resource, subresource string) {
	if subresource != "" {
		resource += "/" + subresource
	}
	r[verb+" "+resource] = true
}

// roles returns the roles of resources, by group and plural.
func (w *world) roles() map[string]string {
	w.t.Helper()
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	w.do(w.client.List(w.t.Context(), all))
	roles := map[string]string{}
	for _, crd := range all.Items {
		for _, category := range crd.Spec.Names.Categories {
			switch role := strings.TrimPrefix(category, "cluster"); role {
			case "managed", "claim", "class", "provider", "target":
				roles[crd.Spec.Group+"/"+crd.Spec.Names.Plural] = role
			}
		}
	}
	return roles
}

// granted returns the rights of the account.
func (w *world) granted() []string {
	w.t.Helper()
	everywhere, here := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Name: account}, everywhere))
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: system, Name: account}, here))
	roles, granted := w.roles(), rights{}
	for _, rule := range append(everywhere.Rules, here.Rules...) {
		for _, resource := range rule.Resources {
			plural, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				granted.add(verb, cmp.Or(roles[rule.APIGroups[0]+"/"+plural], plural), sub)
			}
		}
	}
	return slices.Sorted(maps.Keys(granted))
}

// used returns the rights that the account used, and what was denied to it.
func (w *world) used() (all, denied []string) {
	w.t.Helper()
	events, err := w.Audit(user)
	w.do(err)
	roles, used := w.roles(), rights{}
	for _, e := range events {
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			denied = append(denied, e.Verb+" "+e.RequestURI)
		}
		if o := e.ObjectRef; o != nil {
			used.add(e.Verb, cmp.Or(roles[o.APIGroup+"/"+o.Resource], o.Resource), o.Subresource)
		}
	}
	return slices.Sorted(maps.Keys(used)), denied
}
