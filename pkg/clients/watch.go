// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
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
			if err := w.enqueueUsersOfSecret(ctx, kind, secret, q); err != nil {
				w.mgr.GetLogger().Error(err, "Cannot find the provider configurations of a Secret", "secret", secret)
			}
		}
	})
	return nil
}

// enqueueUsersOfSecret enqueues the users of all ProviderConfigs of a kind whose credentials are in the Secret.
func (w watch) enqueueUsersOfSecret(ctx context.Context, kind ConfigKind, secret types.NamespacedName, q queue) error {
	o, err := w.mgr.GetScheme().New(kind.Kind.GroupVersion().WithKind(kind.Kind.Kind + "List"))
	if err != nil {
		return err
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is not a list of objects", o)
	}
	if err := w.mgr.GetClient().List(ctx, list); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		c, err := parse(item.(client.Object))
		if err != nil {
			return err
		}
		if name, ok := c.secretName(); ok && name == secret {
			w.enqueueUsers(ctx, item.(client.Object), q)
		}
		return nil
	})
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
