// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// stranger returns the first, by kind and name, of the objects under deletion of which a process that has just started does
// not know yet whether they refer to others. Where no controller runs there is nobody to wait for.
func (r *Reconciler) stranger(ctx context.Context, self reference.Dependent) (d reference.Dependent, found bool, err error) {
	if !r.wakeups.work() {
		return d, false, nil
	}
	s := r.references
	s.mu.Lock()
	reconcilers := slices.Collect(maps.Values(s.reconcilers))
	s.mu.Unlock()
	var all []reference.Dependent
	for _, kind := range reconcilers {
		strangers, err := kind.strangers(ctx)
		if err != nil {
			return d, false, fmt.Errorf("listing objects of kind %s: %w", kind.kind.Kind, err)
		}
		all = append(all, strangers...)
	}
	all = slices.DeleteFunc(all, func(d reference.Dependent) bool { return d == self })
	if len(all) == 0 {
		return d, false, nil
	}
	return slices.MinFunc(all, byKindAndName), true, nil
}

// strangers lists the objects of a kind that are being deleted and that nobody looked at yet. One without our finalizer has
// no external resource that could be in the way. Once every object was looked at, so will be those to come before they get
// an external resource, and nothing is listed any more. It waits for the cache to have them.
func (r *Reconciler) strangers(ctx context.Context) (all []reference.Dependent, err error) {
	if _, refers := r.newManaged().(resource.ReferenceResolver); !refers || r.acquainted.Load() {
		return nil, nil
	}
	list, err := r.newList()
	if err != nil {
		return nil, err
	}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); apimeta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	acquainted := true
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		if !ok || !meta.FinalizerExists(o, Finalizer) || r.memory.lookedAt(o) {
			return nil
		}
		acquainted = false
		if meta.WasDeleted(o) {
			all = append(all, r.dependent(client.ObjectKeyFromObject(o)))
		}
		return nil
	})
	r.acquainted.Store(acquainted && err == nil)
	return all, err
}

func byKindAndName(a, b reference.Dependent) int {
	return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
}
