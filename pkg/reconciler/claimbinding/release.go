// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/naming"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
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
	if ref == nil || !naming.IsName(ref.Name) {
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
	if meta.WasDeleted(p.claim) && meta.OrphansOnDelete(p.claim) {
		return r.refuseOrphaning(ctx, p)
	}
	if o := r.permitDeletion(ctx, p); o.End != flow.Continue {
		return o
	}
	uid, version := p.managed.GetUID(), p.managed.GetResourceVersion() // the policy is as it was read
	err := r.client.Delete(ctx, p.managed, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err = client.IgnoreNotFound(err); err == nil {
		p.Note(ReasonDeleted, fmt.Sprintf("Deleted managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
	}
	return fail("deleting the managed resource", err)
}

// refuseOrphaning waits with the deletion of a claim whose author wants to keep the data, which the reclaim policy deletes. To keep it
// without a claim would evade limits and quotas, so that the platform team decides (N31).
func (r *Reconciler) refuseOrphaning(ctx context.Context, p *pass) flow.Outcome {
	if err := r.forbidDeletion(ctx, p); err != nil {
		return fail("keeping the managed resource", client.IgnoreNotFound(err))
	}
	return holdDeletion(xpv1.ReasonNotAllowed, "Deletion waits: the claim has the annotation %s, which is for managed resources, and "+
		"deleting the claim deletes its data. To delete the data, remove the annotation. To keep it, ask your platform team to set "+
		"spec.reclaimPolicy of managed resource %s %q to Retain.", meta.AnnotationKeyOrphanOnDelete, r.managedKind.Kind, p.managed.GetName())
}

// holdDeletion waits with the deletion of a claim until a person acts. Its condition Reconciling has the reason, for programs.
func holdDeletion(reason xpv1.ConditionReason, format string, a ...any) flow.Outcome {
	wait := flow.AwaitAs(reason, format, a...)
	wait.Cause = reason
	return wait
}

// permitDeletion has admission permit that a managed resource is deleted with its claim. The permission is written first, so that a
// pass that is interrupted in between is repeated. What a ProviderConfig uses stays until it does not (N39): the connection Secret
// shows that before the condition, which a pass over the managed resource writes. What people protect stays until they permit its deletion,
// with its claim: the team reads what to ask for (N64).
func (r *Reconciler) permitDeletion(ctx context.Context, p *pass) flow.Outcome {
	users, err := connection.Publisher{}.Users(ctx, r.live, p.managed)
	if err != nil {
		return fail("checking what uses the managed resource", err)
	}
	if len(users) > 0 || p.managed.GetCondition(xpv1.TypeInUse).Status == corev1.ConditionTrue {
		return holdDeletion(xpv1.ReasonResourceInUse, "Managed resource %s %q is not deleted because it is in use. Ask your platform team, which "+
			"can see by what in its condition InUse.", r.managedKind.Kind, p.managed.GetName())
	}
	if meta.IsProtected(p.managed) {
		return holdDeletion(xpv1.ReasonProtected, "Deletion waits: managed resource %s %q has the annotation %s: \"true\", which protects its data "+
			"from deletion. To delete the data, ask your platform team to remove the annotation. To keep it, ask them to set its "+
			"spec.reclaimPolicy to Retain.", r.managedKind.Kind, p.managed.GetName(), meta.AnnotationKeyProtect)
	}
	claim := claimUID(p.managed)
	if p.managed.GetAnnotations()[meta.AnnotationKeyReclaimedFrom] == string(claim) {
		return flow.Next()
	}
	mg, err := objects.Patch(ctx, r.client, p.managed, func(mg resource.BindableManaged) { meta.SetReclaimedFrom(mg, claim) })
	if err == nil {
		p.managed = mg
	}
	return fail("preparing the deletion of the managed resource", client.IgnoreNotFound(err))
}

// forbidDeletion ends the permission of an interrupted pass, and a rotation that the claim planned: what is managed is to be kept (N39).
func (r *Reconciler) forbidDeletion(ctx context.Context, p *pass) error {
	if a := p.managed.GetAnnotations(); a[meta.AnnotationKeyReclaimedFrom]+a[meta.AnnotationKeyClaimRotatesCredentialsAt] == "" {
		return nil
	}
	mg, err := objects.Patch(ctx, r.client, p.managed, func(mg resource.BindableManaged) { meta.RemoveClaimRequests(mg) })
	if err == nil {
		p.managed = mg
	}
	return err
}

// release keeps a managed resource for an administrator, and revokes consent to copies of its connection Secret.
func (r *Reconciler) release(ctx context.Context, p *pass) flow.Outcome {
	if err := r.copies.Revoke(ctx, p.managed, ""); err != nil {
		return fail("revoking consent to copies of the connection Secret", err)
	}
	if err := r.forbidDeletion(ctx, p); err != nil {
		return fail("keeping the managed resource", client.IgnoreNotFound(err))
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
// claim is reclaimed by its reclaim policy. What existed before, may hold data or is protected is never deleted for a claim that is gone: the
// removal of a finalizer is no request to delete (N56, N64). The event may be lost, but the phase shows the same.
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
		kept := r.data && mayHoldData(mg) || meta.IsProtected(mg)
		giveUp := r.release
		switch {
		case !gone && (!created || r.keeps(ctx, claim, mg)):
			continue
		case !gone && meta.WasDeleted(claim) && flow.AwaitFinalizers(claim, Finalizer).End == flow.Wait:
			continue // the removal of the other finalizers enqueues the claim (N37)
		case created && (!gone || !kept):
			giveUp = r.reclaim
		}
		switch o := giveUp(ctx, p); {
		case o.Err != nil:
			return o.Err
		case o.End != flow.Continue: // it is in use, and its change brings it back
			continue
		}
		r.log.Info("Gave up a managed resource", "managed", mg.GetName(), "claim", key, "claimIsGone", gone)
		if gone && p.managed.GetBindingPhase() == xpv1.BindingPhaseReleased {
			flow.Emit(ctx, r.recorder, r.log, p.managed, event.Warning(ReasonReleased, fmt.Errorf("claim %s is gone, and its finalizer was "+
				"removed by force: its managed resource is kept with all data; to see what you can do: bowline orphans list --help", key)))
		}
	}
	return nil
}

// mayHoldData is false for a managed resource without an external resource, and for one that created its own and was never bound: its
// claim was deleted before anyone could have data there. Other API servers remove a claim that gets our finalizer while it is deleted
// (N82). What was restored without its status created its external resource before it exists itself.
func mayHoldData(mg resource.BindableManaged) bool {
	began := meta.GetExternalCreatePending(mg)
	created := !began.Before(mg.GetCreationTimestamp().Time) && meta.GetExternalCreateFailed(mg).Before(began)
	return len(mg.GetFinalizers()) > 0 && (mg.GetBindingPhase() == xpv1.BindingPhaseBound || !created)
}

// keeps is true for a managed resource that the pass over its claim handles.
func (r *Reconciler) keeps(ctx context.Context, claim resource.Claim, mg resource.BindableManaged) bool {
	if !r.belongs(mg, claim) || !r.serves(claim) {
		return false
	}
	ref, of := claim.GetResourceReference(), r.forClaim(ctx, claim).managedKind // empty where the class is gone
	return (of.Empty() || of == r.managedKind) && (ref == nil || ref.Name == mg.GetName())
}

// reclaimUnreferenced reclaims what was created for a deleted claim that names something else, or nothing yet. It asks the API
// server, since nothing looks again.
func (r *Reconciler) reclaimUnreferenced(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetResourceReference()
	for _, by := range r.each() {
		created, err := by.createdFor(ctx, p.claim.GetUID())
		if err != nil {
			return fail("listing what was created for the claim", err)
		}
		for _, mg := range created {
			if ref != nil && ref.Name == mg.GetName() {
				continue // for findBound
			}
			p.managed = mg
			if o := by.reclaim(ctx, p); o.End != flow.Continue {
				return o
			}
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
		return settled || claimUID(mg) == "" || !r.names(mg.GetClaimReference(), claim) || r.keeps(ctx, known, mg)
	})
	return all, resource.Ignore(objects.IsAbsent, err)
}

// claimIndex is the name of the index of managed resources by the claim that they name. Each claim kind has its own.
func (r *Reconciler) claimIndex() string { return "claimbinding/" + r.claimKind.GroupKind().String() }

// indexClaim returns the values of the index.
func (r *Reconciler) indexClaim(o client.Object) []string {
	if mg, ok := unstructured.As[resource.BindableManaged](o); ok && objects.IsOf(mg.GetClaimReference(), r.claimKind) {
		return []string{meta.NamespacedNameOf(mg.GetClaimReference()).String()}
	}
	return nil
}
