// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// awaitFinalizers waits until ours is the last finalizer of a deleted claim: what added another one may still need the managed
// resource (N37). There is nothing to do for a claim without ours.
func awaitFinalizers(_ context.Context, p *pass) flow.Outcome {
	return flow.AwaitFinalizers(p.claim, Finalizer)
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
	if err == nil && r.belongs(mg, p.claim) {
		p.managed = mg
	}
	return fail("reading the managed resource", resource.Ignore(objects.IsAbsent, err))
}

// reclaim deletes or releases the managed resource of a deleted claim, by its reclaim policy (R279).
func (r *Reconciler) reclaim(ctx context.Context, p *pass) flow.Outcome {
	if p.managed == nil || meta.WasDeleted(p.managed) {
		return flow.Next()
	}
	if p.managed.GetReclaimPolicy() != xpv1.ReclaimDelete {
		return r.release(ctx, p)
	}
	uid, version := p.managed.GetUID(), p.managed.GetResourceVersion() // the policy is as it was read
	err := r.client.Delete(ctx, p.managed, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err = client.IgnoreNotFound(err); err == nil {
		p.Note(ReasonDeleted, fmt.Sprintf("Deleted managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
	}
	return fail("deleting the managed resource", err)
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
	if err == nil {
		p.Note(ReasonReleased, fmt.Sprintf("Released managed resource %s %q, which is kept for an administrator.", r.managedKind.Kind,
			p.managed.GetName()))
	}
	return fail("releasing the managed resource", client.IgnoreNotFound(err))
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

// reclaimStrays deletes or releases managed resources of a claim that is gone, because its finalizer was removed or it was created
// again, and those that were created for a claim which names another one, or another kind of class, by now. What was created for the
// claim is reclaimed by its reclaim policy; what existed before is never deleted for a claim that is gone.
func (r *Reconciler) reclaimStrays(ctx context.Context, key types.NamespacedName, known resource.Claim) error {
	strays, err := r.naming(ctx, key, known)
	if err != nil || len(strays) == 0 {
		return err
	}
	claim := r.newClaim()
	err = r.live.Get(ctx, key, claim)
	if client.IgnoreNotFound(err) != nil || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("reading the claim: %w", err) // of a kind that is not served, the claim may exist
	}
	for _, mg := range strays {
		p := &pass{claim: claim, managed: mg.DeepCopyObject().(resource.BindableManaged)}
		created, gone := mg.GetLabels()[LabelClaimUID] == string(claimUID(mg)), err != nil || !r.belongs(mg, claim)
		giveUp := r.release
		switch {
		case created && (gone || !r.keeps(claim, mg)):
			giveUp = r.reclaim
		case !gone:
			continue
		}
		if o := giveUp(ctx, p); o.Err != nil {
			return o.Err
		}
		r.log.Info("Gave up a managed resource", "managed", mg.GetName(), "claim", key, "claimIsGone", gone)
	}
	return nil
}

// keeps is true for a managed resource that the pass over its claim handles.
func (r *Reconciler) keeps(claim resource.Claim, mg resource.BindableManaged) bool {
	ref := claim.GetResourceReference()
	return r.belongs(mg, claim) && r.serves(claim) && (ref == nil || ref.Name == mg.GetName())
}

// reclaimUnreferenced reclaims what was created for a deleted claim that names something else, or nothing yet. It asks the API
// server, since nothing looks again.
func (r *Reconciler) reclaimUnreferenced(ctx context.Context, p *pass) flow.Outcome {
	created, err := r.createdFor(ctx, p.claim.GetUID())
	if err != nil {
		return fail("listing what was created for the claim", err)
	}
	ref := p.claim.GetResourceReference()
	for _, mg := range created {
		if ref != nil && ref.Name == mg.GetName() {
			continue // for findBound
		}
		p.managed = mg
		if o := r.reclaim(ctx, p); o.End != flow.Continue {
			return o
		}
	}
	p.managed = nil
	return flow.Next()
}

// naming returns the managed resources that name a claim, with its UID, and are neither released nor deleted, but those that the pass
// over the claim handles.
func (r *Reconciler) naming(ctx context.Context, claim types.NamespacedName, known resource.Claim) ([]resource.BindableManaged, error) {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if r.indexed {
		options = append(options, client.MatchingFields{r.claimIndex(): claim.String()})
	}
	all, err := r.listManaged(ctx, r.client, options...)
	all = slices.DeleteFunc(all, func(mg resource.BindableManaged) bool {
		settled := mg.GetBindingPhase() == xpv1.BindingPhaseReleased || meta.WasDeleted(mg)
		return settled || claimUID(mg) == "" || !r.names(mg.GetClaimReference(), claim) || r.keeps(known, mg)
	})
	return all, resource.Ignore(objects.IsAbsent, err)
}

// claimIndex is the name of the index of managed resources by the claim that they name. Each claim kind has its own.
func (r *Reconciler) claimIndex() string { return "claimbinding/" + r.claimKind.GroupKind().String() }

// indexClaim returns the values of the index.
func (r *Reconciler) indexClaim(o client.Object) []string {
	if mg, ok := o.(resource.BindableManaged); ok && objects.IsOf(mg.GetClaimReference(), r.claimKind) {
		return []string{meta.NamespacedNameOf(mg.GetClaimReference()).String()}
	}
	return nil
}
