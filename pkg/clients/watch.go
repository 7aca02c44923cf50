// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A watch enqueues the objects of one kind whose ProviderConfig or credentials changed.
type watch struct {
	*Registry
	group string
	users func(ctx context.Context, name string) ([]reconcile.Request, error)
}

// Watch makes a controller requeue objects when their ProviderConfig, of the given group, or its credentials change. users
// returns the objects that use a ProviderConfig of the given name, of any kind.
func (r *Registry) Watch(b *builder.Builder, group string, users func(ctx context.Context, name string) ([]reconcile.Request, error)) {
	w := watch{Registry: r, group: group, users: users}
	b.WatchesRawSource(source.Func(w.secretChanges))
	for _, kind := range r.configs {
		if kind.Kind.Group == group {
			b.Watches(kind.Object, w.configChanges(kind), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
		}
	}
}

func (w watch) configChanges(kind ConfigKind) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { w.enqueueUsers(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { w.enqueueUsers(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			w.forget(keyOf(kind, client.ObjectKeyFromObject(e.Object)))
			w.enqueueUsers(ctx, e.Object, q)
		},
	}
}

func (w watch) secretChanges(ctx context.Context, q queue) error {
	w.secrets.OnChange(func(secret types.NamespacedName) {
		for _, kind := range w.configs {
			if kind.Kind.Group != w.group {
				continue
			}
			configs, err := credentials.Users(ctx, w.mgr.GetClient(), kind.Kind, secret)
			if err != nil {
				w.mgr.GetLogger().Error(err, "Cannot find the provider configurations of a Secret", "secret", secret)
			}
			for _, config := range configs {
				w.enqueueUsers(ctx, config, q)
			}
		}
	})
	return nil
}

// enqueueUsers enqueues the users of a ProviderConfig, and possibly users of another kind with the same name.
func (w watch) enqueueUsers(ctx context.Context, config client.Object, q queue) {
	users, err := w.users(ctx, config.GetName())
	if err != nil {
		w.mgr.GetLogger().Error(err, "Cannot find the users of a provider configuration", "name", config.GetName())
	}
	for _, user := range users {
		if config.GetNamespace() == "" || user.Namespace == config.GetNamespace() {
			q.Add(user)
		}
	}
}
