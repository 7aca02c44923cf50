// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkFinalizer ends the pass over a deleted claim that has nothing, or was let go.
func (r *Reconciler) checkFinalizer(_ context.Context, p *pass) outcome {
	if !meta.FinalizerExists(p.claim, Finalizer) {
		return vanish()
	}
	return next()
}

// recall finds the managed resource that a deleted claim names, if that one names the claim too. It asks the API server itself:
// what is overlooked now would be found again only by chance.
func (r *Reconciler) recall(ctx context.Context, p *pass) outcome {
	ref := p.claim.GetResourceReference()
	if ref == nil || !isName(ref.Name) {
		return next()
	}
	mg := r.newManaged()
	err := r.live.Get(ctx, types.NamespacedName{Name: ref.Name}, mg)
	switch {
	case isUnserved(err):
	case err != nil:
		return fail(fmt.Errorf("reading the managed resource: %w", err))
	case r.belongs(mg, p.claim):
		p.managed = mg
	}
	return next()
}

// reclaim does with the managed resource of a deleted claim what its reclaim policy says (R279).
func (r *Reconciler) reclaim(ctx context.Context, p *pass) outcome {
	if p.managed == nil || meta.WasDeleted(p.managed) {
		return next()
	}
	if p.managed.GetReclaimPolicy() == xpv1.ReclaimDelete {
		if err := r.remove(ctx, p.managed); err != nil {
			return fail(err)
		}
		p.note(ReasonDeleted, fmt.Sprintf("Deleted managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
		return next()
	}
	return r.release(ctx, p)
}

// release keeps a managed resource for an administrator, and its connection Secret from going on.
func (r *Reconciler) release(ctx context.Context, p *pass) outcome {
	if err := r.stopPropagation(ctx, p.managed); err != nil {
		return fail(err)
	}
	if p.managed.GetBindingPhase() == xpv1.BindingPhaseReleased {
		return next()
	}
	if err := r.writePhase(ctx, p, xpv1.BindingPhaseReleased); err != nil {
		return ignoreNotFound(err, "releasing the managed resource")
	}
	p.note(ReasonReleased, fmt.Sprintf("Released managed resource %s %q, which is kept for an administrator.", r.managedKind.Kind,
		p.managed.GetName()))
	return next()
}

// remove deletes a managed resource, unless anybody changed it since it was read: its reclaim policy, for example.
func (r *Reconciler) remove(ctx context.Context, mg resource.BindableManaged) error {
	uid, version := mg.GetUID(), mg.GetResourceVersion()
	err := r.client.Delete(ctx, mg, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the managed resource: %w", err)
	}
	return nil
}

// letGo lets the deletion of the claim finish, and takes its copies of the connection Secret along: the garbage collector leaves
// them where dependents are to be orphaned.
func (r *Reconciler) letGo(ctx context.Context, p *pass) outcome {
	if err := r.discard(ctx, p); err != nil {
		return fail(err)
	}
	if err := r.writeClaim(ctx, p, func(claim resource.Claim) { meta.RemoveFinalizer(claim, Finalizer) }); err != nil {
		if apierrors.IsNotFound(err) {
			return vanish()
		}
		return fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return vanish()
}
