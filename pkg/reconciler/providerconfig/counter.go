// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A counter counts the users of the ProviderConfigs of one kind from watch events. The counts are exact: a watch reports each
// object once when it is added, each change with the object before and after it, and each deletion once; and a controller
// starts only when its watches have reported all objects.
type counter struct {
	kind string

	mu     sync.Mutex
	counts map[types.NamespacedName]int64
}

func newCounter(kind string) *counter {
	return &counter{kind: kind, counts: map[types.NamespacedName]int64{}}
}

func (c *counter) count(config types.NamespacedName) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[config]
}

func (c *counter) add(config types.NamespacedName, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[config] += n
	if c.counts[config] == 0 {
		delete(c.counts, config)
	}
}

// handler counts users and enqueues the ProviderConfigs whose counts changed.
func (c *counter) handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	change := func(user client.Object, n int64, q queue) {
		if kind, config := configOf(user); kind == c.kind {
			c.add(config, n)
			q.Add(reconcile.Request{NamespacedName: config})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { change(e.Object, 1, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { change(e.Object, -1, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			oldKind, oldConfig := configOf(e.ObjectOld)
			newKind, newConfig := configOf(e.ObjectNew)
			if oldKind != newKind || oldConfig != newConfig {
				change(e.ObjectOld, -1, q)
				change(e.ObjectNew, 1, q)
			}
		},
	}
}

// configOf returns the ProviderConfig that an object uses (N2).
func configOf(user client.Object) (kind string, config types.NamespacedName) {
	kind, config.Name = resource.ProviderConfigKind(user), resource.ProviderConfigName(user)
	if kind == xpv1.ProviderConfigKind {
		config.Namespace = user.GetNamespace()
	}
	return kind, config
}

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
