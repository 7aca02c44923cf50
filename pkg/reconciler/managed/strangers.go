// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// strangers are the objects under deletion of which a process that has just started does not know yet whether they refer
// to others. They are listed when the first deletion of a kind begins: what is deleted later was looked at by then.
type strangers struct {
	mu     sync.Mutex
	listed bool
	left   map[reference.Dependent]bool
}

// stranger returns an object under deletion that may refer to the given one and that nobody looked at yet, if there is one.
// Where no controller runs there is nobody to wait for.
func (r *Reconciler) stranger(ctx context.Context, self reference.Dependent) (d reference.Dependent, found bool, err error) {
	if !r.wakeups.work() {
		return d, false, nil
	}
	s := &r.strangers
	s.mu.Lock()
	listed := s.listed
	s.mu.Unlock()
	if !listed {
		left, err := r.references.underDeletion(ctx)
		if err != nil {
			return d, false, err
		}
		s.mu.Lock()
		s.left, s.listed = left, true
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.left {
		if d != self && !r.references.lookedAt(ctx, d) {
			return d, true, nil
		}
		delete(s.left, d)
	}
	return d, false, nil
}

// underDeletion lists the objects under deletion of the kinds that refer to others. It waits for the caches to have them.
func (s *References) underDeletion(ctx context.Context) (map[reference.Dependent]bool, error) {
	s.mu.Lock()
	reconcilers := slices.Collect(maps.Values(s.reconcilers))
	s.mu.Unlock()
	all := map[reference.Dependent]bool{}
	for _, r := range reconcilers {
		if _, refers := r.newManaged().(resource.ReferenceResolver); !refers {
			continue
		}
		list, err := r.newList()
		if err != nil {
			return nil, err
		}
		err = r.client.List(ctx, list, client.UnsafeDisableDeepCopy)
		if apimeta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing objects of kind %s: %w", r.kind.Kind, err)
		}
		err = apimeta.EachListItem(list, func(item runtime.Object) error {
			if o, ok := item.(client.Object); ok && meta.WasDeleted(o) {
				all[r.dependent(client.ObjectKeyFromObject(o))] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lookedAt is true for an object whose references this process knows, and for one that is gone.
func (s *References) lookedAt(ctx context.Context, d reference.Dependent) bool {
	s.mu.Lock()
	r := s.reconcilers[d.Kind.GroupKind()]
	s.mu.Unlock()
	return r.memory.lookedAt(d.Name) || apierrors.IsNotFound(r.client.Get(ctx, d.Name, r.newManaged()))
}
