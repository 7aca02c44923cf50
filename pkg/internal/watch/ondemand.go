// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch holds what controllers learn while they run, and the watches that follow from it: the kinds that objects refer to,
// the objects that others wait for, and the classes that exist.
//
// Nothing here is stored. A new process learns it again in its first passes.
package watch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// Indexed returns requests for the objects of a kind that an index of the cache has under a value.
func Indexed(ctx context.Context, c client.Client, kind schema.GroupVersionKind, index, value string,
	o ...client.ListOption) (requests []reconcile.Request) {
	o = append(o, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy)
	all, err := objects.List[client.Object](ctx, c, c.Scheme(), kind, o...)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot list objects", "kind", kind.GroupKind().String(), "index", index)
	}
	for _, one := range all {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(one)})
	}
	return requests
}

// OnDemand are the watches of one controller that begin with the first object that refers to their kind, so that kinds which
// nothing refers to cost nothing. The zero value watches nothing.
type OnDemand struct {
	mu         sync.Mutex
	controller controller.Controller
	cache      cache.Cache
	kinds      map[schema.GroupVersionKind]struct{}
}

// Begin has later calls of Watch take effect.
func (w *OnDemand) Begin(c controller.Controller, of cache.Cache) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.controller, w.cache, w.kinds = c, of, map[schema.GroupVersionKind]struct{}{}
}

// Begun reports whether Begin was called: it is not by a controller that the caller puts together without SetupWithManager.
func (w *OnDemand) Begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.controller != nil
}

// Watch watches objects like the given one, unless it does already. The handler receives those that exist first.
func (w *OnDemand) Watch(kind schema.GroupVersionKind, like client.Object, h handler.EventHandler) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.kinds[kind]; known || w.controller == nil {
		return nil
	}
	if err := w.controller.Watch(source.Kind(w.cache, like, h)); err != nil {
		return err
	}
	w.kinds[kind] = struct{}{}
	return nil
}
