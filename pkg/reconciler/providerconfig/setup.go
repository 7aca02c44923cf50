// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// SetupWithManager adds a controller to the manager that watches configurations, their users and, if somebody watches
// Secrets, their Secrets. Its name is <kind>.<group> in lower case.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	b := builder.ControllerManagedBy(mgr).
		Named(controllerName(r.kind)).
		For(objects.MustNew[resource.ProviderConfig](mgr.GetScheme(), r.kind)).
		WithOptions(controller.Options{
			NewQueue:    queue.Of(mgr),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](conflictDelay, time.Minute),
		})
	for _, kind := range r.users {
		b = b.Watches(objects.MustNew[client.Object](mgr.GetScheme(), kind), r.ledger.handler())
	}
	if r.secrets != nil {
		b = b.WatchesRawSource(source.Func(r.watchSecrets))
	}
	return b.Complete(r)
}

// watchSecrets asks for a pass over the configurations whose Secret appears, changes or goes away.
func (r *Reconciler) watchSecrets(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.secrets.OnChange(func(secret types.NamespacedName) {
		requests, err := r.configsNaming(ctx, secret)
		if err != nil {
			r.log.Error(err, "Cannot find the configurations that name a Secret", "secret", secret)
		}
		for _, request := range requests {
			queue.Add(request)
		}
	})
	return nil
}

func (r *Reconciler) configsNaming(ctx context.Context, secret types.NamespacedName) (requests []reconcile.Request, err error) {
	o, err := r.client.Scheme().New(r.kind.GroupVersion().WithKind(r.kind.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is not a list of objects", o)
	}
	if err := r.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", r.kind.GroupKind(), err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		config := item.(client.Object)
		secrets, err := namedBy(config)
		if slices.Contains(secrets, secret) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(config)})
		}
		return err
	})
	return requests, err
}
