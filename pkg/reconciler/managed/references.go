// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// dependentsPatience is how long a deletion waits for objects that refer to the deleted one and are being deleted too.
const dependentsPatience = 5 * time.Minute

// dependentsPoll is how often a deletion looks for them without a wakeup, which those of another process do not cause.
const dependentsPoll = 5 * time.Second

// awaitOthers waits for everything else that may still need the external resource: other finalizers and dependents.
func (r *Reconciler) awaitOthers(ctx context.Context, p *pass) outcome {
	return flow.Run(ctx, p, r.awaitFinalizers, r.awaitDependents)
}

// awaitDependents waits until objects that refer to this one are deleted, if they are being deleted too (N32): most external
// systems refuse another order. It does not wait for what cannot end, nor for ever.
func (r *Reconciler) awaitDependents(ctx context.Context, p *pass) outcome {
	self := r.dependent(client.ObjectKeyFromObject(p.managed))
	left := dependentsPatience - r.now().Sub(p.managed.GetDeletionTimestamp().Time)
	if left > 0 && r.queue.Load() != nil { // where no controller runs, no other object is reconciled
		first, found, err := r.references.FirstUnresolved(ctx, self)
		if err != nil {
			return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("looking for objects that may refer to this one: %w", err)))
		}
		if found {
			return flow.AwaitFor(failure.WaitingForDependents, shortestPoll, "Deletion waits until the references of other objects that are being "+
				"deleted are known, such as "+watch.Names(first)+".")
		}
	}
	live := r.live
	if p.memory.failures > 0 {
		live = nil // once is enough: a watch that was behind has caught up
	}
	deleting, stuck, err := r.references.Deleting(ctx, self, r.client, live, needsIntervention)
	if err != nil {
		return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("looking for objects that refer to this one: %w", err)))
	}
	if len(deleting) > 0 && left <= 0 {
		stuck, deleting = append(stuck, deleting...), nil
	}
	if len(stuck) > 0 && !p.memory.disorderNoted {
		p.note(event.Warning(ReasonDisorder, errors.New("not waiting any longer for objects that refer to this one: "+watch.Names(stuck...))))
		p.memory.disorderNoted = true
	}
	if len(deleting) == 0 {
		return flow.Next()
	}
	r.references.AwaitDeletion(self, deleting)
	return flow.AwaitFor(failure.WaitingForDependents, min(left, dependentsPoll),
		"Deletion waits for objects that refer to this one and are being deleted, too: "+watch.Names(deleting...)+".")
}

// needsIntervention is true for an object whose deletion continues only when a person acts.
func needsIntervention(o client.Object) bool {
	mg, ok := asManaged(o)
	if !ok {
		return meta.IsPaused(o)
	}
	interrupted := meta.ExternalCreateIncomplete(o) && xpv1.FailureOf(mg).Reason == failure.CreateInterrupted
	return meta.IsPaused(o) || mg.GetManagementPolicies().Empty() || interrupted
}

// referencesPatience is how long a deletion waits, in each pass, for what its object refers to: a cache of a kind that may not
// be listed never answers. It is at most half of the pass.
const referencesPatience = 3 * time.Second

// readReferences remembers what an object under deletion refers to, which a process that has just started does not know. It
// stores nothing, and does not need all references to be resolvable (R173).
func (r *Reconciler) readReferences(ctx context.Context, p *pass) outcome {
	if resolver, refers := p.managed.DeepCopyObject().(resource.ReferenceResolver); refers {
		ctx, cancel := context.WithTimeout(ctx, min(referencesPatience, r.timeout/2))
		defer cancel()
		_ = r.references.Resolve(ctx, r.dependent(client.ObjectKeyFromObject(p.managed)), resolver, r.client)
	}
	p.memory.resolved.Store(true)
	return flow.Next()
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
	now, err := treeOf(p.managed)
	if err != nil {
		return failed(ReasonCannotResolve, err)
	}
	p.spec = now["spec"]
	return flow.Next()
}
