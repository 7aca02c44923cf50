// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
)

// Used knows which custom kinds have, or ever had, objects. Watching a kind takes over a megabyte, so the garbage collector watches
// only these: a kind without objects neither owns nor is owned. As an admission plugin it sees the first object of a kind before
// that is stored.
type Used struct {
	count func(ctx context.Context, kind schema.GroupResource) (int64, error)

	mu      sync.RWMutex
	used    sets.Set[schema.GroupResource]
	changed Signal
}

// NewUsed returns an empty set that counts the objects of unknown kinds by count.
func NewUsed(count func(context.Context, schema.GroupResource) (int64, error)) *Used {
	return &Used{count: count, used: sets.New[schema.GroupResource](), changed: NewSignal()}
}

var _ admission.MutationInterface = (*Used)(nil)

// Changed is set when a kind gets its first object.
func (k *Used) Changed() Signal { return k.changed }

// Handles reports whether the plugin admits an operation.
func (k *Used) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit records the kind and never refuses.
func (k *Used) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if kind := a.GetResource().GroupResource(); a.GetSubresource() == "" && IsCustom(kind.Group) && !k.has(kind) {
		k.add(kind)
		k.changed.Set()
	}
	return nil
}

func (k *Used) has(kind schema.GroupResource) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.used.Has(kind)
}

func (k *Used) add(kind schema.GroupResource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used.Insert(kind)
}

// Has reports whether a kind has objects. It counts those of a kind that it has not seen.
func (k *Used) Has(ctx context.Context, kind schema.GroupResource) bool {
	if !IsCustom(kind.Group) || k.has(kind) {
		return true
	}
	n, err := k.count(ctx, kind)
	if err != nil || n > 0 { // in doubt the kind is watched
		k.add(kind)
		return true
	}
	return false
}
