// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkFinalizer ends the pass over a deleted claim that has nothing.
func (r *Reconciler) checkFinalizer(_ context.Context, p *pass) flow.Outcome {
	if !meta.FinalizerExists(p.claim, Finalizer) {
		return flow.Vanished()
	}
	return flow.Next()
}

// findBound finds the managed resource that a deleted claim names, if that one names the claim too. It asks the API server, since
// nothing looks again.
func (r *Reconciler) findBound(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetResourceReference()
	if ref == nil || !isName(ref.Name) {
		return flow.Next()
	}
	mg := r.newManaged()
	err := r.live.Get(ctx, types.NamespacedName{Name: ref.Name}, mg)
	switch {
	case objects.IsAbsent(err):
	case err != nil:
		return fail("reading the managed resource", err)
	case r.belongs(mg, p.claim):
		p.managed = mg
	}
	return flow.Next()
}

// reclaim deletes or releases the managed resource of a deleted claim, by its reclaim policy (R279).
func (r *Reconciler) reclaim(ctx context.Context, p *pass) flow.Outcome {
	if p.managed == nil || meta.WasDeleted(p.managed) {
		return flow.Next()
	}
	if p.managed.GetReclaimPolicy() == xpv1.ReclaimDelete {
		uid, version := p.managed.GetUID(), p.managed.GetResourceVersion() // the policy is as it was read
		err := r.client.Delete(ctx, p.managed, client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fail("deleting the managed resource", err)
		}
		p.Note(ReasonDeleted, fmt.Sprintf("Deleted managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
		return flow.Next()
	}
	return r.release(ctx, p)
}

// release keeps a managed resource for an administrator, and revokes consent to copies of its connection Secret.
func (r *Reconciler) release(ctx context.Context, p *pass) flow.Outcome {
	if err := r.copies.Revoke(ctx, p.managed, ""); err != nil {
		return fail("revoking consent to copies of the connection Secret", err)
	}
	if p.managed.GetBindingPhase() == xpv1.BindingPhaseReleased {
		return flow.Next()
	}
	err := r.writePhase(ctx, p, xpv1.BindingPhaseReleased)
	if client.IgnoreNotFound(err) != nil {
		return fail("releasing the managed resource", err)
	}
	if err == nil {
		p.Note(ReasonReleased, fmt.Sprintf("Released managed resource %s %q, which is kept for an administrator.", r.managedKind.Kind,
			p.managed.GetName()))
	}
	return flow.Next()
}

// removeFinalizer lets the deletion of the claim finish, after its copies are deleted: the garbage collector leaves them where
// dependents are orphaned.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) flow.Outcome {
	if err := r.copies.Discard(ctx, r.owner(p.claim), p.managed); err != nil {
		return fail("deleting the connection Secret of the claim", err)
	}
	err := r.patchClaim(ctx, p, func(claim resource.Claim) { meta.RemoveFinalizer(claim, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail("removing the finalizer", err)
	}
	return flow.Vanished()
}
