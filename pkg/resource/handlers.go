// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// EnqueueRequestForClaim enqueues the claim that a managed resource refers to (A42, R317). For an update it also enqueues the
// claim of the old object, so that a claim that lost its managed resource is reconciled (R318).
type EnqueueRequestForClaim struct{ enqueuer[claim] }

// EnqueueRequestForPropagated enqueues every Secret that a Secret is copied to (A42, R319), for an update also those of the old
// object.
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
	seen := map[types.NamespacedName]bool{}
	for _, some := range names {
		for _, name := range some {
			if !seen[name] {
				seen[name] = true
				q.Add(reconcile.Request{NamespacedName: name})
			}
		}
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
	var names []types.NamespacedName
	for _, name := range meta.PropagatesTo(obj) {
		names = append(names, name)
	}
	return names
}
