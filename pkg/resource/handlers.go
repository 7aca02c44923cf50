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

// EnqueueRequestForClaim asks for a pass over the claim that a managed resource names (A42, R317). Of an update the old
// object counts too, so that a claim that lost its managed resource is told (R318).
type EnqueueRequestForClaim struct{}

var _ handler.EventHandler = (*EnqueueRequestForClaim)(nil)

// Create satisfies handler.EventHandler.
func (*EnqueueRequestForClaim) Create(_ context.Context, e event.CreateEvent, q queue) {
	enqueue(q, claimOf(e.Object))
}

// Update satisfies handler.EventHandler.
func (*EnqueueRequestForClaim) Update(_ context.Context, e event.UpdateEvent, q queue) {
	enqueue(q, claimOf(e.ObjectOld), claimOf(e.ObjectNew))
}

// Delete satisfies handler.EventHandler.
func (*EnqueueRequestForClaim) Delete(_ context.Context, e event.DeleteEvent, q queue) {
	enqueue(q, claimOf(e.Object))
}

// Generic satisfies handler.EventHandler.
func (*EnqueueRequestForClaim) Generic(_ context.Context, e event.GenericEvent, q queue) {
	enqueue(q, claimOf(e.Object))
}

// EnqueueRequestForPropagated asks for a pass over every Secret that a Secret's content goes on to (A42, R319). Of an
// update the old object counts too.
type EnqueueRequestForPropagated struct{}

var _ handler.EventHandler = (*EnqueueRequestForPropagated)(nil)

// Create satisfies handler.EventHandler.
func (*EnqueueRequestForPropagated) Create(_ context.Context, e event.CreateEvent, q queue) {
	enqueue(q, propagatedTo(e.Object))
}

// Update satisfies handler.EventHandler.
func (*EnqueueRequestForPropagated) Update(_ context.Context, e event.UpdateEvent, q queue) {
	enqueue(q, propagatedTo(e.ObjectOld), propagatedTo(e.ObjectNew))
}

// Delete satisfies handler.EventHandler.
func (*EnqueueRequestForPropagated) Delete(_ context.Context, e event.DeleteEvent, q queue) {
	enqueue(q, propagatedTo(e.Object))
}

// Generic satisfies handler.EventHandler.
func (*EnqueueRequestForPropagated) Generic(_ context.Context, e event.GenericEvent, q queue) {
	enqueue(q, propagatedTo(e.Object))
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue adds each name once: a queue that wakes up between two additions would work twice.
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

func claimOf(obj client.Object) []types.NamespacedName {
	o, ok := obj.(ClaimReferencer)
	if !ok || absent(obj) || o.GetClaimReference() == nil || o.GetClaimReference().Name == "" {
		return nil
	}
	return []types.NamespacedName{meta.NamespacedNameOf(o.GetClaimReference())}
}

func propagatedTo(obj client.Object) []types.NamespacedName {
	if obj == nil || absent(obj) {
		return nil
	}
	var names []types.NamespacedName
	for _, name := range meta.PropagatesTo(obj) {
		names = append(names, name)
	}
	return names
}
