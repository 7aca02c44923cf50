// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds watches managed kinds without a Go type once objects name them.
package kinds

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Kinds are managed kinds that are known at run time only. One controller watches each from the first object on that names it.
type Kinds struct {
	resource.Kinds

	mu      sync.Mutex
	indexed map[schema.GroupVersionKind]bool
	open    []schema.GroupVersionKind
}

// An Index of objects in a cache.
type Index struct {
	In     client.FieldIndexer
	Name   string
	Values client.IndexerFunc
}

// Open watches objects like the given one, with an index, unless it does already. The error of a kind without a definition is one of
// objects.IsAbsent.
func (k *Kinds) Open(ctx context.Context, kind schema.GroupVersionKind, like client.Object, by Index, w *watch.OnDemand, h handler.EventHandler) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Contains(k.open, kind) {
		return nil
	}
	if !k.indexed[kind] {
		if err := by.In.IndexField(ctx, like, by.Name, by.Values); err != nil {
			return fmt.Errorf("indexing %s: %w", kind.GroupKind(), err)
		}
		if k.indexed == nil {
			k.indexed = map[schema.GroupVersionKind]bool{}
		}
		k.indexed[kind] = true
	}
	if err := w.Watch(kind, like, h); err != nil {
		return fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
	}
	k.open = append(k.open, kind)
	return nil
}

// Opened returns the kinds that are watched.
func (k *Kinds) Opened() []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.open)
}
