// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// resolve fills in what the object's fields refer to (R158 to R172). The values are stored with the next write to the object,
// at the latest before they are sent to the external system (R42, R165).
func (r *Reconciler) resolve(ctx context.Context, p *pass) outcome {
	resolver, refers := p.managed.(resource.ReferenceResolver)
	if !refers {
		return flow.Next()
	}
	var err error
	if p.planning {
		err = resolver.ResolveReferences(ctx, r.client)
	} else {
		err = r.references.Resolve(ctx, r.dependent(client.ObjectKeyFromObject(p.managed)), resolver, r.client)
		p.memory.resolved.Store(true)
	}
	if err != nil {
		err = fmt.Errorf("resolving references: %w", err)
		if (reference.IsUnresolved(err) || apimeta.IsNoMatchError(err)) && r.queue.Load() != nil {
			return rejected(ReasonCannotResolve, err) // the object that it refers to enqueues it, or the arrival of its kind
		}
		return failed(ReasonCannotResolve, err)
	}
	if p.isUnchanged() {
		return flow.Next()
	}
	now, err := treeOf(p.managed)
	if err != nil {
		return failed(ReasonCannotResolve, err)
	}
	p.derived = now["spec"]
	return flow.Next()
}

// referencesPatience is how long a deletion waits, in each pass, for what its object refers to: a cache of a kind that may not
// be listed never answers. It is at most half of the pass.
const referencesPatience = 3 * time.Second

// readReferences remembers what an object under deletion refers to, which a process that has just started does not know. It
// stores nothing, and does not need all references to be resolvable (R173).
func (r *Reconciler) readReferences(ctx context.Context, p *pass) outcome {
	_ = r.resolveReferences(ctx, p.managed)
	p.memory.resolved.Store(true)
	return flow.Next()
}

// resolveReferences resolves the references of a copy.
func (r *Reconciler) resolveReferences(ctx context.Context, mg resource.Managed) error {
	resolver, refers := mg.DeepCopyObject().(resource.ReferenceResolver)
	if !refers {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(referencesPatience, r.timeout/2))
	defer cancel()
	return r.references.Resolve(ctx, r.dependent(client.ObjectKeyFromObject(mg)), resolver, r.client)
}

// A server is the reconciler as References knows it.
type server struct{ r *Reconciler }

// WakeNow satisfies watch.Server.
func (s server) WakeNow(name types.NamespacedName) { s.r.WakeNow(name) }

// IsDeleting satisfies watch.Server.
func (s server) IsDeleting(ctx context.Context, name types.NamespacedName) bool {
	mg := s.r.newManaged()
	return s.r.client.Get(ctx, name, mg) == nil && meta.WasDeleted(mg)
}

// Unresolved satisfies watch.Server. An object without our finalizer has no external resource that could be in the way. Once
// the references of every object were read, so are those of new objects before they get an external resource, and nothing is
// listed any more. It waits for the cache to have the objects.
func (s server) Unresolved(ctx context.Context) (names []types.NamespacedName, err error) {
	r := s.r
	if _, refers := r.newManaged().(resource.ReferenceResolver); !refers || r.resolved.Load() {
		return nil, nil
	}
	all := true
	err = r.each(ctx, func(mg resource.Managed) {
		if !meta.FinalizerExists(mg, Finalizer) || r.memory.isResolved(mg) {
			return
		}
		all = false
		if meta.WasDeleted(mg) {
			names = append(names, client.ObjectKeyFromObject(mg))
		}
	})
	if apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	r.resolved.Store(all && err == nil)
	return names, err
}

// References knows which objects of a process refer to which. See WithReferences.
type References = watch.References

// NewReferences returns what the reconcilers of one manager may share by WithReferences.
func NewReferences(mgr manager.Manager) *References { return watch.NewReferences(mgr) }

func (r *Reconciler) dependent(name types.NamespacedName) reference.Dependent {
	return reference.Dependent{Kind: r.kind, Name: name}
}
