// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// A PredicateFn selects the objects that a controller reconciles (A35). Those of this package are false for nil and for objects
// without the role in question (R320).
type PredicateFn func(obj runtime.Object) bool

// NewPredicates returns predicates that admit events about objects for which fn is true: for an update, about the new object
// (R307). fn is never called with nil.
func NewPredicates(fn PredicateFn) predicate.Funcs {
	of := func(obj client.Object) bool { return !absent(obj) && fn(obj) }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return of(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return of(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return of(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return of(e.Object) },
	}
}

// AllOf is true for objects for which all functions are true, and so for every object if there are none (R308).
func AllOf(fn ...PredicateFn) PredicateFn {
	return func(obj runtime.Object) bool {
		return !slices.ContainsFunc(fn, func(f PredicateFn) bool { return !f(obj) })
	}
}

// AnyOf is true for objects for which at least one function is true, and so for no object if there are none (R308).
func AnyOf(fn ...PredicateFn) PredicateFn {
	return func(obj runtime.Object) bool {
		return slices.ContainsFunc(fn, func(f PredicateFn) bool { return f(obj) })
	}
}

// IsManagedKind is true for objects of the kind, according to the typer, usually the manager's scheme (R314).
func IsManagedKind(k ManagedKind, ot runtime.ObjectTyper) PredicateFn {
	return func(obj runtime.Object) bool {
		gvk, err := GetKind(obj, ot)
		return err == nil && gvk == schema.GroupVersionKind(k)
	}
}

// IsControlledByKind is true for objects whose controller is of the kind. Other owners do not count (R315).
func IsControlledByKind(k schema.GroupVersionKind) PredicateFn {
	return where(func(o metav1.Object) bool {
		ref := metav1.GetControllerOf(o)
		return ref != nil && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind) == k
	})
}

func where[T any](condition func(T) bool) PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(T)
		return ok && !absent(obj) && condition(o)
	}
}

// absent is true for nil, and for an interface that holds a nil pointer.
func absent(obj runtime.Object) bool {
	if obj == nil {
		return true
	}
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// HasClassSelector is true for objects that select their class by labels, also by an empty selector (A37, R309).
func HasClassSelector() PredicateFn {
	return where(func(o ClassSelector) bool { return o.GetClassSelector() != nil })
}

// HasNoClassSelector is true for objects that could select their class by labels and do not (A37, R309, R311).
func HasNoClassSelector() PredicateFn {
	return where(func(o ClassSelector) bool { return o.GetClassSelector() == nil })
}

// HasNoClassReference is true for objects that could refer to a class and do not (A37, R310, R311).
func HasNoClassReference() PredicateFn {
	return where(func(o ClassReferencer) bool { return o.GetClassReference() == nil })
}

// HasNoManagedResourceReference is true for objects that could refer to a managed resource and do not (A37, R310, R311).
func HasNoManagedResourceReference() PredicateFn {
	return where(func(o ManagedResourceReferencer) bool { return o.GetResourceReference() == nil })
}

// HasClassReferenceKind is true for objects that refer to a class of the kind (A38, R312).
func HasClassReferenceKind(k ClassKind) PredicateFn {
	return where(func(o ClassReferencer) bool { return refersTo(o.GetClassReference(), schema.GroupVersionKind(k)) })
}

// HasManagedResourceReferenceKind is true for objects that refer to a managed resource of the kind (A38, R313).
func HasManagedResourceReferenceKind(k ManagedKind) PredicateFn {
	return where(func(o ManagedResourceReferencer) bool {
		return refersTo(o.GetResourceReference(), schema.GroupVersionKind(k))
	})
}

// IsPropagator is true for Secrets whose content is copied to other Secrets (A41, R316).
func IsPropagator() PredicateFn {
	return where(func(o metav1.Object) bool { return len(meta.PropagatesTo(o)) > 0 })
}

// IsPropagated is true for Secrets whose content is a copy of another Secret (A41, R316).
func IsPropagated() PredicateFn {
	return where(func(o metav1.Object) bool { _, propagated := meta.PropagatedFrom(o); return propagated })
}

func refersTo(ref *corev1.ObjectReference, kind schema.GroupVersionKind) bool {
	return ref != nil && ref.GroupVersionKind() == kind
}

// EnqueueRequestForClaim enqueues the claim that a managed resource refers to (A42, R317). For an update it also enqueues the
// claim of the old object, so that a claim that lost its managed resource is reconciled (R318).
type EnqueueRequestForClaim struct{ enqueuer[claim] }

// EnqueueRequestForPropagated enqueues every Secret that a Secret is copied to, for an update also those of the old object
// (A42, R319).
type EnqueueRequestForPropagated struct{ enqueuer[copies] }

var (
	_ handler.EventHandler = (*EnqueueRequestForClaim)(nil)
	_ handler.EventHandler = (*EnqueueRequestForPropagated)(nil)
)

// An enqueuer enqueues the objects that the target of an event refers to.
type enqueuer[R interface {
	referredBy(client.Object) []types.NamespacedName
}] struct{ references R }

func (h enqueuer[R]) Create(_ context.Context, e event.CreateEvent, q queue) {
	enqueue(q, h.references.referredBy(e.Object))
}

func (h enqueuer[R]) Update(_ context.Context, e event.UpdateEvent, q queue) {
	enqueue(q, h.references.referredBy(e.ObjectOld), h.references.referredBy(e.ObjectNew))
}

func (h enqueuer[R]) Delete(_ context.Context, e event.DeleteEvent, q queue) {
	enqueue(q, h.references.referredBy(e.Object))
}

func (h enqueuer[R]) Generic(_ context.Context, e event.GenericEvent, q queue) {
	enqueue(q, h.references.referredBy(e.Object))
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue adds each name once: a worker may take a name before the second addition.
func enqueue(q queue, names ...[]types.NamespacedName) {
	for name := range sets.New(slices.Concat(names...)...) {
		q.Add(reconcile.Request{NamespacedName: name})
	}
}

type claim struct{}

func (claim) referredBy(obj client.Object) []types.NamespacedName {
	o, ok := obj.(ClaimReferencer)
	if !ok || absent(obj) || o.GetClaimReference() == nil || o.GetClaimReference().Name == "" {
		return nil
	}
	return []types.NamespacedName{meta.NamespacedNameOf(o.GetClaimReference())}
}

type copies struct{}

func (copies) referredBy(obj client.Object) []types.NamespacedName {
	if obj == nil || absent(obj) {
		return nil
	}
	return slices.Collect(maps.Values(meta.PropagatesTo(obj)))
}
