// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Wakeups returns a source that enqueues objects of which nothing changed, but something that they depend on: an object that
// they refer to, a connection Secret that lost something, or a call in the background. Add it to the reconciler's controller
// with WatchesRawSource; without it such objects are reconciled at the next poll or retry.
func (r *Reconciler) Wakeups() source.Source {
	return source.Func(func(ctx context.Context, requests requestQueue) error {
		r.queue.Store(&requests)
		go r.enqueueNotReady(ctx)
		return r.references.WatchSecrets(ctx, r.kind, r.client)
	})
}

// SetupWithManager adds a controller of the kind to the manager, by the name that ControllerName returns, with all that wakes its objects:
// Wakeups, and changes of the ProviderConfigs that they use, of which configs are empty objects. It is for providers that read
// ProviderConfigs themselves; package provider does more, since it knows the credentials. A changed Secret with credentials takes effect
// at the next poll or retry (N30).
func (r *Reconciler) SetupWithManager(mgr manager.Manager, configs ...client.Object) error {
	mg := r.newManaged()
	if err := IndexProviderConfig(context.Background(), mgr, mg); err != nil {
		return err
	}
	name := ControllerName(r.kind.GroupKind())
	b := builder.ControllerManagedBy(mgr).Named(name).For(unstructured.Plain(mg)).WatchesRawSource(r.Wakeups()).
		WithOptions(queue.Options(mgr, name, 0, 0, 0))
	for _, config := range configs {
		b.Watches(unstructured.Plain(config), handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return b.Complete(r)
}

// usersOf returns requests for the objects that use a ProviderConfig, and wakes them.
func (r *Reconciler) usersOf(ctx context.Context, config client.Object) []reconcile.Request {
	requests, err := r.Users(ctx, client.ObjectKeyFromObject(config))
	if err != nil {
		r.log.Error(err, "Cannot find the users of a provider configuration", "config", client.ObjectKeyFromObject(config))
	}
	return requests
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
	if requests := r.queue.Load(); requests != nil {
		(*requests).Add(req)
	}
}

// providerConfigIndex indexes managed resources by the name of the ProviderConfig that they use.
const providerConfigIndex = "bowline.dev/providerConfig"

// IndexProviderConfig lets Users find the managed resources of one kind. Call it once per kind before the manager starts.
func IndexProviderConfig(ctx context.Context, mgr manager.Manager, of resource.Managed) error {
	return mgr.GetFieldIndexer().IndexField(ctx, unstructured.Plain(of), providerConfigIndex, func(o client.Object) []string {
		mg, ok := unstructured.As[resource.Managed](o)
		if !ok {
			return nil
		}
		return []string{resource.ProviderConfigName(mg)}
	})
}

// Users returns requests for all managed resources of this kind that use the ProviderConfig of the given name, those of its namespace
// if it has one, and wakes them: what failed before may succeed now. It reads from the cache; see IndexProviderConfig.
func (r *Reconciler) Users(ctx context.Context, config types.NamespacedName) (requests []reconcile.Request, err error) {
	err = r.each(ctx, func(mg resource.Managed) {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}
		r.Wake(req)
		requests = append(requests, req)
	}, client.MatchingFields{providerConfigIndex: config.Name}, client.InNamespace(config.Namespace))
	if err != nil {
		return nil, fmt.Errorf("listing users of provider config %q: %w", config, err)
	}
	return requests, nil
}

// each calls do for the objects of the kind in the cache. They must not be changed.
func (r *Reconciler) each(ctx context.Context, do func(resource.Managed), o ...client.ListOption) error {
	all, err := unstructured.List[resource.Managed](ctx, r.client, r.client.Scheme(), r.newManaged(), append(o, client.UnsafeDisableDeepCopy)...)
	for _, mg := range all {
		do(mg)
	}
	return err
}
