// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
	managedunstructured "github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Wakeups returns a source that enqueues objects of which nothing changed, but something that they depend on: an object that
// they refer to, a connection Secret that lost something, or a call in the background. Add it to the reconciler's controller
// with WatchesRawSource; without it such objects are reconciled at the next poll or retry.
func (r *Reconciler) Wakeups() source.Source {
	return source.Func(func(ctx context.Context, queue requestQueue) error {
		r.queue.Store(&queue)
		go r.enqueueNotReady(ctx)
		return r.references.WatchSecrets(ctx, r.kind, r.client)
	})
}

// enqueueNotReady enqueues the objects that are not settled when the process starts, before all the others are reconciled.
func (r *Reconciler) enqueueNotReady(ctx context.Context) {
	err := r.each(ctx, func(mg resource.Managed) {
		if !isSettled(mg) {
			r.WakeNow(client.ObjectKeyFromObject(mg))
		}
	})
	if err != nil && ctx.Err() == nil {
		r.log.Info("Cannot list objects to reconcile those first that are not ready", "error", err.Error())
	}
}

// Wake makes the next request for an object a full pass, although nothing about the object itself changed. Call it before
// enqueueing a request because of something else that the object depends on.
func (r *Reconciler) Wake(req reconcile.Request) { r.memory.wake(req.NamespacedName) }

// WakeNow wakes an object and enqueues it. See Wakeups.
func (r *Reconciler) WakeNow(key types.NamespacedName) {
	req := reconcile.Request{NamespacedName: key}
	r.Wake(req)
	if queue := r.queue.Load(); queue != nil {
		(*queue).Add(req)
	}
}

// providerConfigIndex indexes managed resources by the name of the ProviderConfig that they use.
const providerConfigIndex = "bowline.dev/providerConfig"

// IndexProviderConfig lets Users find the managed resources of one kind. Call it once per kind before the manager starts.
func IndexProviderConfig(ctx context.Context, mgr manager.Manager, of resource.Managed) error {
	cached := client.Object(of)
	if untyped, ok := of.(*managedunstructured.Managed); ok {
		cached = untyped.GetUnstructured()
	}
	return mgr.GetFieldIndexer().IndexField(ctx, cached, providerConfigIndex, func(o client.Object) []string {
		mg, ok := asManaged(o)
		if !ok {
			return nil
		}
		return []string{resource.ProviderConfigName(mg)}
	})
}

// asManaged returns an object of a cache as a managed resource, also one of a kind without a Go type.
func asManaged(o runtime.Object) (resource.Managed, bool) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return managedunstructured.Wrap(u), true
	}
	mg, ok := o.(resource.Managed)
	return mg, ok
}

// Users returns requests for all managed resources of this kind that use the ProviderConfig of the given name, and
// wakes them: what failed before may succeed now. It reads from the cache; see IndexProviderConfig.
func (r *Reconciler) Users(ctx context.Context, providerConfig string) (requests []reconcile.Request, err error) {
	err = r.each(ctx, func(mg resource.Managed) {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}
		r.Wake(req)
		requests = append(requests, req)
	}, client.MatchingFields{providerConfigIndex: providerConfig})
	if err != nil {
		return nil, fmt.Errorf("listing users of provider config %q: %w", providerConfig, err)
	}
	return requests, nil
}

func (r *Reconciler) newList() (client.ObjectList, error) {
	if _, ok := r.newManaged().(runtime.Unstructured); ok {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(r.kind.GroupVersion().WithKind(r.kind.Kind + "List"))
		return list, nil
	}
	return objects.NewList(r.client.Scheme(), r.kind)
}

// each calls do for the objects of the kind in the cache. They must not be changed.
func (r *Reconciler) each(ctx context.Context, do func(resource.Managed), o ...client.ListOption) error {
	list, err := r.newList()
	if err != nil {
		return err
	}
	if err := r.client.List(ctx, list, append(o, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	return apimeta.EachListItem(list, func(item runtime.Object) error {
		if mg, ok := asManaged(item); ok {
			do(mg)
		}
		return nil
	})
}
