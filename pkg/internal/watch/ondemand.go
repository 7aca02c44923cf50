// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

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
