// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// SetupWithManager adds a controller to the manager that watches ProviderConfigs, their users and, with WithSecrets, their
// Secrets. Its name is <kind>.<group> in lower case.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	b := builder.ControllerManagedBy(mgr).
		Named(controllerName(r.kind)).
		For(objects.MustNew[resource.ProviderConfig](mgr.GetScheme(), r.kind)).
		WithOptions(controller.Options{
			NewQueue:    queue.Of(mgr),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](flow.ConflictDelay, time.Minute),
		})
	for _, kind := range r.users {
		b = b.Watches(objects.MustNew[client.Object](mgr.GetScheme(), kind), r.counter.handler())
	}
	if r.secrets != nil {
		b = b.WatchesRawSource(source.Func(r.watchSecrets))
	}
	return b.Complete(r)
}

// watchSecrets enqueues the ProviderConfigs whose Secret changed.
func (r *Reconciler) watchSecrets(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.secrets.OnChange(func(secret types.NamespacedName) {
		configs, err := credentials.Users(ctx, r.client, r.kind, secret)
		if err != nil {
			r.log.Error(err, "Cannot find the configurations that refer to a Secret", "secret", secret)
		}
		for _, config := range configs {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(config)})
		}
	})
	return nil
}
