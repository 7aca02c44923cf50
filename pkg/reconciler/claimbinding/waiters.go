// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A topic is an object that a claim may wait for.
type topic struct {
	what      string
	namespace string
	name      string
}

func classTopic(name string) topic { return topic{what: "class", name: name} }

func managedTopic(name string) topic { return topic{what: "managed", name: name} }

func secretTopic(namespace, name string) topic {
	return topic{what: "secret", namespace: namespace, name: name}
}

// waiters know which claims wait for which objects that do not name them. A claim is noted before the object is read, so that
// no change is missed in between. A new process knows again after its first pass over each claim.
type waiters struct {
	mu     sync.Mutex
	topics map[topic]map[types.NamespacedName]struct{}
	claims map[types.NamespacedName]map[topic]struct{}
}

func newWaiters() *waiters {
	return &waiters{
		topics: map[topic]map[types.NamespacedName]struct{}{},
		claims: map[types.NamespacedName]map[topic]struct{}{},
	}
}

func (w *waiters) wait(claim types.NamespacedName, on topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics[on] == nil {
		w.topics[on] = map[types.NamespacedName]struct{}{}
	}
	if w.claims[claim] == nil {
		w.claims[claim] = map[topic]struct{}{}
	}
	w.topics[on][claim], w.claims[claim][on] = struct{}{}, struct{}{}
}

// forget is for a claim that waits for nothing any more.
func (w *waiters) forget(claim types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for on := range w.claims[claim] {
		delete(w.topics[on], claim)
		if len(w.topics[on]) == 0 {
			delete(w.topics, on)
		}
	}
	delete(w.claims, claim)
}

// on returns requests for the claims that wait for an object.
func (w *waiters) on(t topic) (requests []reconcile.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for claim := range w.topics[t] {
		requests = append(requests, reconcile.Request{NamespacedName: claim})
	}
	return requests
}
