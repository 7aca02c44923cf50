// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// bind records the claim on the managed resource (R273), unless the claim named one that is not what it asks for. The first write
// decides between two claims that want the same one: it is guarded by the resource version (R274).
func (r *Reconciler) bind(ctx context.Context, p *pass) flow.Outcome {
	if !r.belongs(p.managed, p.claim) {
		for _, c := range r.configurators {
			if checker, ok := c.(ManagedChecker); ok {
				if err := checker.CheckManaged(ctx, p.claim, p.managed); err != nil {
					return flow.RejectedAs(xpv1.ReasonBinding, err)
				}
			}
		}
		if err := r.copies.Revoke(ctx, p.managed, ""); err != nil { // of former claims
			return fail("revoking consent to earlier copies of the connection Secret", err)
		}
		mg, err := objects.Patch(ctx, r.client, p.managed, func(mg resource.BindableManaged) { mg.SetClaimReference(r.claimReference(p.claim)) })
		if err != nil {
			return fail("recording the claim on the managed resource", err)
		}
		p.managed = mg
	}
	if p.managed.GetBindingPhase() != xpv1.BindingPhaseBound {
		if err := r.writePhase(ctx, p, xpv1.BindingPhaseBound); err != nil {
			return fail("marking the managed resource as bound", err)
		}
		p.Note(ReasonBound, fmt.Sprintf("Bound to managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
	}
	p.bound = true
	return flow.Next()
}

// writePhase records the binding phase of the managed resource.
func (r *Reconciler) writePhase(ctx context.Context, p *pass, phase xpv1.BindingPhase) error {
	mg, err := objects.PatchStatus(ctx, r.client, p.managed, func(mg resource.BindableManaged) { mg.SetBindingPhase(phase) })
	if err == nil {
		p.managed = mg
	}
	return err
}

// addFinalizer keeps the claim from disappearing before its managed resource is deleted or released. It is written before anything
// is created or bound.
func (r *Reconciler) addFinalizer(ctx context.Context, p *pass) flow.Outcome {
	if meta.FinalizerExists(p.claim, Finalizer) {
		return flow.Next()
	}
	return fail("adding the finalizer", r.patchClaim(ctx, p, func(claim resource.Claim) { meta.AddFinalizer(claim, Finalizer) }))
}

// recordResource has the claim name what was created for it (R267), and the class that this came from: another may have been
// recorded meanwhile. From then on the claim cannot get anything else.
func (r *Reconciler) recordResource(ctx context.Context, p *pass) flow.Outcome {
	if p.claim.GetResourceReference() != nil {
		return flow.Next()
	}
	ref, class := reference(p.managed, r.managedKind), p.managed.GetClassReference()
	return fail("recording the managed resource on the claim", r.patchClaim(ctx, p, func(claim resource.Claim) {
		claim.SetResourceReference(ref)
		if chosen := claim.GetClassReference(); objects.IsOf(class, r.classKind) && (chosen == nil || chosen.Name != class.Name) {
			claim.SetClassReference(class)
		}
	}))
}

// showResource has the claim show the final external name, whatever it proposed (R266, P3), and the UID of a managed resource that
// it named itself (R273).
func (r *Reconciler) showResource(ctx context.Context, p *pass) flow.Outcome {
	name, ref := meta.GetExternalName(p.managed), p.claim.GetResourceReference()
	if (name == "" || name == meta.GetExternalName(p.claim)) && ref.UID == p.managed.GetUID() {
		return flow.Next()
	}
	return fail("showing the managed resource on the claim", r.patchClaim(ctx, p, func(claim resource.Claim) {
		if name != "" {
			meta.SetExternalName(claim, name)
		}
		claim.GetResourceReference().UID = p.managed.GetUID()
	}))
}

// copySecret requests the copy of a bound claim, and reports what keeps it from being created or complete (R270, R271, R278).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	to := p.claim.GetWriteConnectionSecretToReference()
	wanted := to != nil && to.Name != ""
	secret, err := r.copies.Copy(ctx, r.owner(p.claim), p.managed, copies.Certain)
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The claim cannot have its Secret", "claim", client.ObjectKeyFromObject(p.claim), "cause", errors.Unwrap(err))
		return flow.RejectedAs(xpv1.ReasonBinding, err)
	case err != nil:
		return fail("writing the connection Secret of the claim", err)
	case wanted && !secret.Exists:
		return flow.AwaitAs(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q has published no connection details yet. Wait until it does; if "+
			"its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName()))
	}
	p.Mistake = secret.Problem
	return flow.Next()
}

func (r *Reconciler) owner(claim resource.Claim) copies.Owner {
	return copies.Claim(claim, r.claimKind, r.managedKind.Kind)
}

// awaitBindable waits until the managed resource can be used (R269). One that was bound or released before could be used then,
// and find has seen that it belongs to no other claim.
func (r *Reconciler) awaitBindable(_ context.Context, p *pass) flow.Outcome {
	switch p.managed.GetBindingPhase() {
	case xpv1.BindingPhaseUnbound, xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased:
		return flow.Next()
	}
	return flow.AwaitAs(xpv1.ReasonBinding, r.whyNotReady(p.managed))
}

// checkReady has the claim show whether its managed resource can be used (R282).
func (r *Reconciler) checkReady(_ context.Context, p *pass) flow.Outcome {
	if p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionFalse {
		return flow.AwaitAs(xpv1.ReasonUnavailable, r.whyNotReady(p.managed))
	}
	return flow.Next()
}

// whyNotReady tells the team why a managed resource cannot be used, from reasons and messages that are for teams (N41).
func (r *Reconciler) whyNotReady(mg resource.BindableManaged) string {
	what := fmt.Sprintf("Managed resource %s %q", r.managedKind.Kind, mg.GetName())
	ready, synced, failed := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(mg)
	switch {
	case synced.Reason == xpv1.ReasonReconcilePaused:
		return what + " is paused. Ask your platform team to resume it."
	case failed.Reason == failure.ExternalNameTaken && meta.IsExternalNameProposed(mg):
		return fmt.Sprintf("%s is not created: the external name %q, which the claim proposes, is taken. Delete the claim and create it "+
			"again with another name in its annotation %s, or without one.", what, meta.GetExternalName(mg), meta.AnnotationKeyExternalName)
	case failed.Message != "":
		return fmt.Sprintf("%s is not ready (%s): %s", what, failed.Reason, failed.Message)
	case failed.Reason != "", synced.Status == corev1.ConditionFalse:
		return what + " is not ready. Ask your platform team, who sees the cause in its conditions."
	case ready.Status == corev1.ConditionFalse:
		return fmt.Sprintf("%s is not ready yet (%s). Wait until it is.", what, ready.Reason)
	default:
		return what + " is not ready yet. Wait until it is."
	}
}
