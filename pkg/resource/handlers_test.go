// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// queue counts how often each name was added: a real one would hide that it was added twice.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[string]int
}

func (q queue) Add(r reconcile.Request) { q.added[r.String()]++ }

func servedBy(claim string) *unstructured.Managed {
	mg := unstructured.New(bucketKind)
	mg.SetName("bucket")
	if claim != "" {
		mg.SetClaimReference(&corev1.ObjectReference{Namespace: "team", Name: claim})
	}
	return mg
}

func propagating(names ...string) *corev1.Secret {
	from := &corev1.Secret{}
	for _, name := range names {
		to := &corev1.Secret{}
		to.Namespace, to.Name, to.UID = "team", name, types.UID("uid of "+name)
		meta.AllowPropagationTo(from, to)
	}
	return from
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	claims, secrets := &resource.EnqueueRequestForClaim{}, &resource.EnqueueRequestForPropagated{}
	nameless := servedBy("")
	nameless.SetClaimReference(&corev1.ObjectReference{Namespace: "team"})
	var noBucket *unstructured.Managed
	var noSecret *corev1.Secret
	once := func(names ...string) map[string]int {
		added := map[string]int{}
		for _, name := range names {
			added["team/"+name] = 1
		}
		return added
	}
	for name, tc := range map[string]struct {
		handler  handler.EventHandler
		old, obj client.Object
		want     map[string]int
	}{
		"the claim (A42, R317)":                   {handler: claims, obj: servedBy("a"), want: once("a")},
		"no claim (R317)":                         {handler: claims, obj: servedBy(""), want: once()},
		"a claim without a name (R317)":           {handler: claims, obj: nameless, want: once()},
		"the same claim as before (R317)":         {handler: claims, old: servedBy("a"), obj: servedBy("a"), want: once("a")},
		"a claim that lost it (R318)":             {handler: claims, old: servedBy("a"), obj: servedBy(""), want: once("a")},
		"a claim that lost it to another (R318)":  {handler: claims, old: servedBy("a"), obj: servedBy("b"), want: once("a", "b")},
		"each destination (A42, R319)":            {handler: secrets, obj: propagating("a", "b"), want: once("a", "b")},
		"a Secret that goes nowhere (R319)":       {handler: secrets, obj: &corev1.Secret{}, want: once()},
		"the same destination as before (R319)":   {handler: secrets, old: propagating("a"), obj: propagating("a"), want: once("a")},
		"a destination that it is no more (R319)": {handler: secrets, old: propagating("a"), obj: propagating("b"), want: once("a", "b")},
		"the claim of nil (R320)":                 {handler: claims, want: once()},
		"the claim of a nil pointer (R320)":       {handler: claims, old: noBucket, obj: noBucket, want: once()},
		"the claim of a foreign type (R320)":      {handler: claims, old: &corev1.Secret{}, obj: &corev1.Secret{}, want: once()},
		"destinations of nil (R320)":              {handler: secrets, want: once()},
		"destinations of a nil pointer (R320)":    {handler: secrets, old: noSecret, obj: noSecret, want: once()},
	} {
		t.Run(name, func(t *testing.T) {
			for event, handle := range map[string]func(queue){
				"create":  func(q queue) { tc.handler.Create(t.Context(), event.CreateEvent{Object: tc.obj}, q) },
				"delete":  func(q queue) { tc.handler.Delete(t.Context(), event.DeleteEvent{Object: tc.obj}, q) },
				"generic": func(q queue) { tc.handler.Generic(t.Context(), event.GenericEvent{Object: tc.obj}, q) },
				"update": func(q queue) {
					tc.handler.Update(t.Context(), event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.obj}, q)
				},
			} {
				if tc.old != nil && event != "update" {
					continue
				}
				q := queue{added: map[string]int{}}
				handle(q)
				if diff := cmp.Diff(tc.want, q.added); diff != "" {
					t.Errorf("%s: -want +got:\n%s", event, diff)
				}
			}
		})
	}
}
