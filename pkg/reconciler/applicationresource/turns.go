// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// mostPasses is how many passes over resources of one target may run at a time, so that a cluster that does not answer leaves workers to others.
const mostPasses = 8

// turns divides the workers of the controller between targets. What has to wait holds no worker, and is enqueued when it is its turn.
type turns struct {
	enqueue func(types.NamespacedName)

	mu      sync.Mutex
	running map[types.NamespacedName]int                    // passes by target
	waiting map[types.NamespacedName][]types.NamespacedName // resources by target, each once
	called  map[types.NamespacedName]types.NamespacedName   // targets of resources that were enqueued and have not begun
}

func newTurns(enqueue func(types.NamespacedName)) *turns {
	return &turns{enqueue: enqueue, running: map[types.NamespacedName]int{}, waiting: map[types.NamespacedName][]types.NamespacedName{},
		called: map[types.NamespacedName]types.NamespacedName{}}
}

// targetFor is the target whose turn a pass takes.
func targetFor(resource *workloadv1alpha1.KubernetesApplicationResource) types.NamespacedName {
	name := types.NamespacedName{Namespace: resource.Namespace}
	switch ref := resource.Spec.TargetReference; {
	case ref != nil && !meta.WasDeleted(resource):
		name.Name = ref.Name
	case len(resource.Status.Inventory) > 0:
		name.Name = resource.Status.Inventory[0].Target
	}
	return name
}

// take begins a pass, which the caller ends, or has the resource wait.
func (t *turns) take(target, resource types.NamespacedName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.called, resource)
	if t.running[target] < mostPasses {
		t.running[target]++
		return true
	}
	for _, other := range t.waiting[target] {
		if other == resource {
			return false
		}
	}
	t.waiting[target] = append(t.waiting[target], resource)
	return false
}

// end ends a pass, and calls the next resource.
func (t *turns) end(target types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[target]--; t.running[target] == 0 {
		delete(t.running, target)
	}
	t.call(target)
}

// call enqueues the next resource of a target. The caller holds the lock.
func (t *turns) call(target types.NamespacedName) {
	all := t.waiting[target]
	if len(all) == 0 {
		delete(t.waiting, target)
		return
	}
	next := all[0]
	t.waiting[target], t.called[next] = all[1:], target
	t.enqueue(next)
}

// forget has the resource after one that is gone take its turn.
func (t *turns) forget(resource types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if target, called := t.called[resource]; called {
		delete(t.called, resource)
		t.call(target)
	}
}
