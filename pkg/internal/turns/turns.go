// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turns divides the workers of a controller between what they work for, such as external systems, so that one that does not answer
// leaves workers to the others. What has to wait holds no worker.
package turns

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Turns has at most so many passes for one owner at a time, and enqueues an object that had to wait when it is its turn. It is safe for
// concurrent use.
type Turns struct {
	most    int
	enqueue func(types.NamespacedName)

	mu      sync.Mutex
	running map[types.NamespacedName]int                    // passes by owner
	waiting map[types.NamespacedName][]types.NamespacedName // objects by owner, each once
	called  map[types.NamespacedName]types.NamespacedName   // owners of objects that were enqueued and have not begun
}

// New returns Turns of at most so many passes for each owner. enqueue must not block.
func New(most int, enqueue func(types.NamespacedName)) *Turns {
	return &Turns{most: most, enqueue: enqueue, running: map[types.NamespacedName]int{}, waiting: map[types.NamespacedName][]types.NamespacedName{},
		called: map[types.NamespacedName]types.NamespacedName{}}
}

// Take begins a pass over an object, which the caller ends, or has the object wait.
func (t *Turns) Take(owner, object types.NamespacedName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.called, object)
	if t.running[owner] < t.most {
		t.running[owner]++
		return true
	}
	for _, other := range t.waiting[owner] {
		if other == object {
			return false
		}
	}
	t.waiting[owner] = append(t.waiting[owner], object)
	return false
}

// End ends a pass, and calls the next object.
func (t *Turns) End(owner types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[owner]--; t.running[owner] == 0 {
		delete(t.running, owner)
	}
	t.call(owner)
}

// call enqueues the next object of an owner. The caller holds the lock.
func (t *Turns) call(owner types.NamespacedName) {
	all := t.waiting[owner]
	if len(all) == 0 {
		delete(t.waiting, owner)
		return
	}
	next := all[0]
	t.waiting[owner], t.called[next] = all[1:], owner
	t.enqueue(next)
}

// Forget has the object after one that is gone take its turn.
func (t *Turns) Forget(object types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if owner, called := t.called[object]; called {
		delete(t.called, object)
		t.call(owner)
	}
}
