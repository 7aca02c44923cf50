// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// requests is the queue of a controller.
type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A waker finds the objects of one kind that have to look again because what they connect with changed.
type waker struct {
	setup      *Setup
	group      string // of the configurations that the kind uses
	reconciler *managed.Reconciler
}

// whenConfigChanges reconciles the users of a configuration that changed. The client of one that is gone is closed.
func (w waker) whenConfigChanges(of placed[resource.ProviderConfig]) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { w.enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) { w.enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			w.setup.forget(keyOf(of, e.Object))
			w.enqueue(ctx, e.Object, q)
		},
	}
}

// whenSecretChanges reconciles the users of all configurations whose credentials changed.
func (w waker) whenSecretChanges() source.Source {
	return source.Func(func(ctx context.Context, queue requests) error {
		w.setup.secrets.OnChange(func(secret types.NamespacedName) {
			configs, err := w.configsWith(ctx, secret)
			if err != nil {
				w.setup.mgr.GetLogger().Error(err, "Cannot find the provider configurations of a Secret", "secret", secret)
			}
			for _, config := range configs {
				w.enqueue(ctx, config, queue)
			}
		})
		return nil
	})
}

// enqueue asks for a pass over the users of a configuration, and perhaps over some of another kind's of the same name.
func (w waker) enqueue(ctx context.Context, config client.Object, queue requests) {
	users, err := w.reconciler.Users(ctx, config.GetName())
	if err != nil {
		w.setup.mgr.GetLogger().Error(err, "Cannot find the users of a provider configuration", "name", config.GetName())
	}
	for _, user := range users {
		if config.GetNamespace() == "" || user.Namespace == config.GetNamespace() {
			queue.Add(user)
		}
	}
}

// configsWith returns the configurations whose credentials are in the given Secret.
func (w waker) configsWith(ctx context.Context, secret types.NamespacedName) ([]client.Object, error) {
	var with []client.Object
	for _, c := range w.setup.layout.configs {
		if c.gvk.Group != w.group {
			continue
		}
		empty, err := w.setup.mgr.GetScheme().New(listOf(c.gvk))
		if err != nil {
			return with, fmt.Errorf("making a list: %w", err)
		}
		list, ok := empty.(client.ObjectList)
		if !ok {
			return with, fmt.Errorf("%T is not a list of objects", empty)
		}
		if err := w.setup.mgr.GetClient().List(ctx, list); err != nil {
			return with, fmt.Errorf("listing provider configurations: %w", err)
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			config := item.(client.Object)
			said, err := read(config)
			if err == nil && slices.Contains(said.secrets(), secret) {
				with = append(with, config)
			}
			return err
		})
		if err != nil {
			return with, err
		}
	}
	return with, nil
}
