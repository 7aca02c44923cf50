// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A Topic is an object that others may wait for, by a word of the caller for its kind.
type Topic struct {
	Kind string
	types.NamespacedName
}

// Waiters are objects that wait for others which do not name them. Call Wait before the object is read, so that no change is
// missed in between.
type Waiters struct {
	mu      sync.Mutex
	waiting map[Topic]sets.Set[types.NamespacedName]
	topics  map[types.NamespacedName]sets.Set[Topic]
}

// NewWaiters returns Waiters of which none waits.
func NewWaiters() *Waiters {
	return &Waiters{waiting: map[Topic]sets.Set[types.NamespacedName]{}, topics: map[types.NamespacedName]sets.Set[Topic]{}}
}

// Wait records that an object waits for a topic.
func (w *Waiters) Wait(waiter types.NamespacedName, on Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[on] == nil {
		w.waiting[on] = sets.New[types.NamespacedName]()
	}
	if w.topics[waiter] == nil {
		w.topics[waiter] = sets.New[Topic]()
	}
	w.waiting[on].Insert(waiter)
	w.topics[waiter].Insert(on)
}

// Forget is for an object that no longer waits for anything.
func (w *Waiters) Forget(waiter types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for on := range w.topics[waiter] {
		w.waiting[on].Delete(waiter)
		if len(w.waiting[on]) == 0 {
			delete(w.waiting, on)
		}
	}
	delete(w.topics, waiter)
}

// On returns requests for the objects that wait for a topic.
func (w *Waiters) On(on Topic) (requests []reconcile.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for waiter := range w.waiting[on] {
		requests = append(requests, reconcile.Request{NamespacedName: waiter})
	}
	return requests
}
