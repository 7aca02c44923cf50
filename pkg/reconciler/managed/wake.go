// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// wakeups hold the queue of the reconciler's controller, once it runs.
type wakeups struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// work is true once objects that are woken come back at once.
func (w *wakeups) work() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue != nil
}

// Wakeups returns a source that brings objects back of which nothing changed, but something that they depend on: an object
// that they refer to, a connection secret that is lost, or a call in the background. Add it to the reconciler's controller
// with WatchesRawSource; without it such objects come back with the next poll or repetition.
func (r *Reconciler) Wakeups() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.wakeups.mu.Lock()
		defer r.wakeups.mu.Unlock()
		r.wakeups.queue = queue
		if err := r.watchSecrets(ctx); err != nil {
			r.log.Info("Cannot watch connection secrets; one that is lost is found by polling", "error", err.Error())
		}
		go r.hurryUnfinished(ctx)
		return nil
	})
}

// hurryUnfinished enqueues the objects that are not finished when the process starts, so that they do not wait behind a
// first look at all the others.
func (r *Reconciler) hurryUnfinished(ctx context.Context) {
	list, err := r.newList()
	if err == nil {
		err = r.client.List(ctx, list, client.UnsafeDisableDeepCopy)
	}
	if err == nil {
		err = apimeta.EachListItem(list, func(item runtime.Object) error {
			if mg, ok := asManaged(item); ok && !finished(mg) {
				r.WakeNow(client.ObjectKeyFromObject(mg))
			}
			return nil
		})
	}
	if err != nil && ctx.Err() == nil {
		r.log.Info("Cannot look for unfinished objects; they are looked at in turn", "error", err.Error())
	}
}

// Wake makes the reconciler look at an object at the next request for it, although nothing about the object itself
// changed. Call it before enqueueing a request because of something else that the object depends on.
func (r *Reconciler) Wake(req reconcile.Request) { r.memory.wake(req.NamespacedName) }

// WakeNow wakes an object and enqueues it. See Wakeups.
func (r *Reconciler) WakeNow(key types.NamespacedName) {
	req := reconcile.Request{NamespacedName: key}
	r.Wake(req)
	r.wakeups.mu.Lock()
	defer r.wakeups.mu.Unlock()
	if r.wakeups.queue != nil {
		r.wakeups.queue.Add(req)
	}
}
