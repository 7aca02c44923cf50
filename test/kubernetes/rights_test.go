// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/resource"
	fcpdatabasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

const user = "system:serviceaccount:" + system + ":" + account

// The quickstart and the guide of claims work with exactly the rights in the manifests: nothing is denied, and nothing is granted that is
// not used, there or by what unused names.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leads := w.replica(t, "first")
	before := w.leader(t, "")
	w.replica(t, "second")
	w.claimsOfQuickstart()
	w.claimsOfGuide()
	w.do(leads.signal(syscall.SIGTERM))
	w.leader(t, before)
	used, denied := w.used()
	if len(denied) > 0 {
		t.Errorf("denied: %v", denied)
	}
	granted := w.granted()
	for _, right := range granted {
		if !slices.Contains(used, right) && unused[right] == "" {
			t.Errorf("granted and not used: %s", right)
		}
	}
	for right := range unused {
		if !slices.Contains(granted, right) {
			t.Errorf("not granted: %s", right)
		}
	}
}

// claimsOfQuickstart uses and deletes the claim of the quickstart, and deletes its class.
func (w *world) claimsOfQuickstart() {
	w.t.Helper()
	w.apply("", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	w.apply("shop", w.example("quickstart/claim.yaml"))
	orders := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}
	w.bound(orders)
	w.deleted(orders)
	plane.Eventually(w.t, patience, "nothing is left", func(ctx context.Context) error {
		left, err := w.project.All(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left: %v", left)
		}
		return err
	})
	w.do(w.client.DeleteAllOf(w.t.Context(), &fcpdatabasev1alpha3.FavouriteDBInstanceClass{}))
}

// claimsOfGuide uses the objects of docs/guides/claims.md, and deletes the claims and the target.
func (w *world) claimsOfGuide() {
	w.t.Helper()
	for _, file := range []string{"server", "classes", "existing"} {
		w.apply("", w.example("claims/"+file+".yaml"))
	}
	for _, file := range []string{"postgresql", "redis", "existing-claim"} {
		w.apply("shop", w.example("claims/"+file+".yaml"))
	}
	object := metav1.ObjectMeta{Namespace: "shop", Name: "legacy"}
	legacy := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: object}
	orders := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}
	sessions := &cachev1alpha1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}}
	for _, claim := range []resource.Claim{legacy, orders, sessions} {
		w.bound(claim)
	}
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: object, Spec: workloadv1alpha1.KubernetesTargetSpec{TargetSpec: xpv1.TargetSpec{
		ResourceReference: &corev1.ObjectReference{
			APIVersion: fcpdatabasev1alpha3.GroupVersion.String(), Kind: fcpdatabasev1alpha3.FavouriteDBInstanceKind, Name: object.Name,
		},
	}}}
	w.do(w.client.Create(w.t.Context(), target))
	plane.Eventually(w.t, patience, "the target is ready", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(target), target)
		if ready := target.GetCondition(xpv1.TypeReady); err == nil && ready.Status != corev1.ConditionTrue {
			err = errors.New(ready.Message)
		}
		return err
	})
	app := w.application(target)
	for _, o := range []client.Object{app, target, legacy, orders, sessions} {
		w.deleted(o)
	}
}

// application uses an application on a target of something else than a cluster, whose objects wait here.
func (w *world) application(target *workloadv1alpha1.KubernetesTarget) *workloadv1alpha1.KubernetesApplication {
	w.t.Helper()
	w.apply(target.Namespace, w.example("workload/application.yaml"))
	app := &workloadv1alpha1.KubernetesApplication{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: "store"}}
	change := []byte(`{"spec":{"targetSelector":null,"targetRef":{"name":"` + target.Name + `"}}}`)
	w.do(w.client.Patch(w.t.Context(), app, client.RawPatch(types.MergePatchType, change)))
	plane.Eventually(w.t, patience, "its objects are reconciled", func(ctx context.Context) error {
		all := &workloadv1alpha1.KubernetesApplicationResourceList{}
		err := w.client.List(ctx, all, client.InNamespace(target.Namespace))
		for _, o := range all.Items {
			if o.GetCondition(xpv1.TypeReady).Reason == "" {
				err = errors.New(o.Name + " has no condition Ready")
			}
		}
		if err == nil && len(all.Items) == 0 {
			err = errors.New("there are none")
		}
		return err
	})
	return app
}

// bound waits until a claim is bound, and its Secret opens what it is bound to.
func (w *world) bound(claim resource.Claim) {
	w.t.Helper()
	plane.Eventually(w.t, patience, "the claim is bound", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if ready := claim.GetCondition(xpv1.TypeReady); ready.Status != corev1.ConditionTrue {
			return fmt.Errorf("%s: %s %s", claim.GetName(), ready.Reason, ready.Message)
		}
		secret := &corev1.Secret{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: claim.GetName()}, secret); err != nil {
			return err
		}
		if _, isCache := claim.(*cachev1alpha1.RedisCluster); isCache {
			return inspect.OpensRedis(ctx, secret.Data)
		}
		return inspect.OpensPostgreSQL(ctx, secret.Data)
	})
}

// deleted deletes an object and waits until it is gone.
func (w *world) deleted(o client.Object) {
	w.t.Helper()
	w.do(w.client.Delete(w.t.Context(), o))
	plane.Eventually(w.t, patience, "it is deleted", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// unused are the rights that these do not need, with what does.
var unused = map[string]string{
	"get workload":         "an application is read again after a conflict",
	"list workload":        "servers that do not stream lists",
	"get target":           "a target is read again after a conflict",
	"get events":           "an event that happens again is counted",
	"patch events":         "an event that happens again is counted",
	"watch resourcequotas": "a Secret that a quota refused is tried again when there is room",
	"list resourcequotas":  "servers that do not stream lists",
	"list claim":           "servers that do not stream lists",
	"list provider":        "servers that do not stream lists",
	"list target":          "servers that do not stream lists",
	"list namespaces":      "servers that do not stream lists",
}

// rights are what is done with objects, such as "patch claim/status". Kinds of the same role count as one, named after their category,
// others are named with their group. What is granted in the namespace of the controllers only ends with "here".
type rights map[string]bool

func (r rights) add(verb, resource, subresource, where string) {
	if subresource != "" {
		resource += "/" + subresource
	}
	r[verb+" "+resource+where] = true
}

// roles are the roles of kinds, by group and plural.
type roles map[schema.GroupResource]string

// of returns the role of a resource, or its name.
func (r roles) of(group, plural string) string {
	gr := schema.GroupResource{Group: group, Resource: plural}
	return cmp.Or(r[gr], gr.String())
}

func (w *world) roles() roles {
	w.t.Helper()
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	w.do(w.client.List(w.t.Context(), all))
	roles := roles{}
	for _, crd := range all.Items {
		for _, category := range crd.Spec.Names.Categories {
			switch role := strings.TrimPrefix(category, "cluster"); role {
			case "managed", "claim", "class", "provider", "target", "workload":
				roles[schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}] = role
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
	for where, rules := range map[string][]rbacv1.PolicyRule{"": everywhere.Rules, " here": here.Rules} {
		for _, rule := range rules {
			for _, name := range rule.Resources {
				plural, sub, _ := strings.Cut(name, "/")
				for _, group := range rule.APIGroups {
					for _, verb := range rule.Verbs {
						granted.add(verb, roles.of(group, plural), sub, where)
					}
				}
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
			used.add(e.Verb, roles.of(o.APIGroup, o.Resource), o.Subresource, "")
			if o.Namespace == system {
				used.add(e.Verb, roles.of(o.APIGroup, o.Resource), o.Subresource, " here")
			}
		}
	}
	return slices.Sorted(maps.Keys(used)), denied
}
