// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/naming"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/wording"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// find finds the managed resource that the claim names, or that an interrupted pass created before the claim named it (R256,
// R268). A claim without the finalizer has none of its own, since the finalizer is written first.
func (r *Reconciler) find(ctx context.Context, p *pass) flow.Outcome {
	if ref := p.claim.GetResourceReference(); ref != nil {
		return r.findNamed(ctx, p, ref)
	}
	if !meta.FinalizerExists(p.claim, Finalizer) {
		return flow.Next()
	}
	created, err := r.createdFor(ctx, p.claim.GetUID())
	if err != nil {
		return fail("listing what was created for the claim", err)
	}
	for _, mg := range created {
		if meta.WasDeleted(mg) {
			return r.awaitDeletion(mg)
		}
		p.managed = mg
	}
	return flow.Next()
}

// awaitDeletion waits for what was created for the claim and is being deleted, because the claim named another class for a while.
// The claim never had it, so that another is created afterwards.
func (r *Reconciler) awaitDeletion(mg resource.BindableManaged) flow.Outcome {
	return flow.AwaitAs(xpv1.ReasonBinding, "Managed resource %s %q, which was created for this claim before, is being "+
		"deleted. Wait: another is created afterwards.", r.managedKind.Kind, mg.GetName())
}

func (r *Reconciler) findNamed(ctx context.Context, p *pass, ref *corev1.ObjectReference) flow.Outcome {
	if !naming.IsName(ref.Name) {
		return flow.Refuse(xpv1.ReasonBinding, "%q in spec.resourceRef cannot be the name of a managed resource: delete the "+
			"claim and create it again with another one", objects.Shorten(ref.Name, naming.Longest))
	}
	mg, key := r.newManaged(), types.NamespacedName{Name: ref.Name}
	err := r.client.Get(ctx, key, mg)
	if apierrors.IsNotFound(err) { // the cache may be behind
		mg = r.newManaged()
		err = r.live.Get(ctx, key, mg)
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.missing(p, ref)
	case err != nil:
		return fail("reading the managed resource", err)
	case !r.belongs(mg, p.claim) && ref.UID != "" && ref.UID != mg.GetUID():
		return r.missing(p, ref)
	case !r.belongs(mg, p.claim) && !r.consents(mg, p.claim):
		if o := r.withdraw(ctx, p, mg); o.End != flow.Continue {
			return o
		}
		return flow.Refuse(xpv1.ReasonNotAllowed, "managed resource %s %q does not allow this claim: delete the claim and create "+
			"it again with another one in spec.resourceRef, or ask your platform team to let its spec.claimRef name this claim, or to list namespace %q in "+
			"its annotation %s while it belongs to no claim", r.managedKind.Kind, ref.Name, p.claim.GetNamespace(),
			meta.AnnotationKeyAllowedNamespaces)
	case meta.WasDeleted(mg):
		return flow.AwaitAs(xpv1.ReasonResourceLost, "Managed resource %s %q is being deleted, and is not replaced: delete the "+
			"claim and create another.", r.managedKind.Kind, ref.Name)
	}
	p.managed = mg
	return flow.Next()
}

// missing reports that the managed resource was lost, if the claim ever had it, or else does not exist yet (R280, R275).
func (r *Reconciler) missing(p *pass, ref *corev1.ObjectReference) flow.Outcome {
	if p.claim.GetBindingPhase() == xpv1.BindingPhaseBound || ref.UID != "" ||
		p.claim.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonResourceLost {
		return flow.Refuse(xpv1.ReasonResourceLost, "managed resource %s %q of this claim is gone, and is not replaced: delete "+
			"the claim and create another", r.managedKind.Kind, ref.Name)
	}
	return flow.Refuse(xpv1.ReasonBinding, "managed resource %s %q does not exist: create the claim again with another "+
		"spec.resourceRef, or ask your platform team to create the managed resource", r.managedKind.Kind, ref.Name)
}

// withdraw ends that the claim's copy gets changes of a managed resource that an administrator gave to another or took back. The copy
// stays as it is.
func (r *Reconciler) withdraw(ctx context.Context, p *pass, mg resource.BindableManaged) flow.Outcome {
	_, err := r.copies.Withdraw(ctx, r.owner(p.claim), mg, func(ctx context.Context) error {
		now := r.newManaged()
		err := r.live.Get(ctx, client.ObjectKeyFromObject(mg), now)
		if err == nil && r.belongs(now, p.claim) {
			err = apierrors.NewConflict(schema.GroupResource{}, mg.GetName(), errors.New("the cache is behind"))
		}
		return err
	})
	return fail("revoking consent to copies of the connection Secret", err)
}

// createdFor returns what was created for a claim. The API server is asked, since the cache may be behind.
func (r *Reconciler) createdFor(ctx context.Context, claim types.UID) ([]resource.BindableManaged, error) {
	all, err := r.listManaged(ctx, r.live, client.MatchingLabels{LabelClaimUID: string(claim)})
	if objects.IsAbsent(err) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(mg resource.BindableManaged) bool {
		return claimUID(mg) != claim // an administrator gave it to another claim
	}), err
}

// belongs is true for a managed resource that names exactly this claim.
func (r *Reconciler) belongs(mg resource.BindableManaged, claim resource.Claim) bool {
	return mg.GetClaimReference() != nil && claimUID(mg) == claim.GetUID()
}

// consents is true for a managed resource that belongs to no claim and allows this one (N27, R274).
func (r *Reconciler) consents(mg resource.BindableManaged, claim resource.Claim) bool {
	if ref := mg.GetClaimReference(); ref != nil {
		return ref.UID == "" && r.names(ref, client.ObjectKeyFromObject(claim))
	}
	return connection.Listed(mg, claim.GetNamespace())
}

// names is true for a reference to a claim of our kind, of whatever version, by namespace and name.
func (r *Reconciler) names(ref *corev1.ObjectReference, claim types.NamespacedName) bool {
	return objects.IsOf(ref, r.claimKind) && meta.NamespacedNameOf(ref) == claim
}

func (r *Reconciler) listManaged(ctx context.Context, from client.Reader, o ...client.ListOption) ([]resource.BindableManaged, error) {
	return unstructured.List[resource.BindableManaged](ctx, from, r.scheme, r.newManaged(), o...)
}

// bind records the claim on the managed resource, unless the claim named one that is not what it asks for. The first write
// decides between two claims that want the same one: it is guarded by the resource version (R273, R274).
func (r *Reconciler) bind(ctx context.Context, p *pass) flow.Outcome {
	if !r.belongs(p.managed, p.claim) {
		for _, c := range r.configurators {
			if checker, ok := c.(ManagedChecker); ok {
				if err := checker.CheckManaged(ctx, p.claim, p.managed); err != nil {
					return r.refuse(p, err)
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

// refuse ends the pass because of a configurator. What its message for the team leaves out is in the log.
func (r *Reconciler) refuse(p *pass, err error) flow.Outcome {
	if err.Error() != failure.Of(err).Message {
		r.log.Info("A configurator refuses the claim", "claim", client.ObjectKeyFromObject(p.claim), "error", err.Error())
	}
	return flow.RejectedAs(xpv1.ReasonBinding, err)
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

// recordResource has the claim name what was created for it, and the class that this came from: another may have been recorded
// meanwhile. From then on the claim cannot get anything else (R267).
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

// showResource has the claim show the final external name, whatever it proposed, and the UID of a managed resource that it named
// itself (R266, R273, P3).
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

// passRotation passes a request for new credentials, or its end, on to the managed resource (N50).
func (r *Reconciler) passRotation(ctx context.Context, p *pass) flow.Outcome {
	p.Remark = strings.TrimSpace(p.Remark + " " + meta.IgnoredRotation(p.claim))
	return fail("passing the request for new credentials on", connection.PassRotation(ctx, r.client, p.claim, p.managed))
}

// copySecret requests the copy of a bound claim, and reports what keeps it from being created or complete (R270, R271, R278).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	to := p.claim.GetWriteConnectionSecretToReference()
	wanted := to != nil && to.Name != ""
	secret, err := r.copies.Copy(ctx, r.owner(p.claim), p.managed, copies.Certain)
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The claim cannot have its Secret", "claim", client.ObjectKeyFromObject(p.claim), "cause", errors.Unwrap(err))
		if err := r.refused.AwaitSecret(err, p.claim); err != nil {
			return fail("watching what keeps the claim from its Secret", err)
		}
		return flow.RejectedAs(failure.ConnectionSecretUnavailable, err)
	case err != nil:
		return fail("writing the connection Secret of the claim", err)
	case wanted && !secret.Exists:
		return flow.AwaitAs(xpv1.ReasonBinding, "Managed resource %s %q has published no connection details yet. Wait until it "+
			"does; if its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName())
	}
	if p.problem, p.Remark = secret.Problem, secret.Kept; p.Remark != "" {
		p.Warning = event.Reason(failure.ConnectionDetailsLost)
	}
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
	return r.awaitManaged(xpv1.ReasonBinding, p.managed)
}

// checkReady has the claim show whether its managed resource can be used, for which its Secret has to be as declared (R282, N51).
func (r *Reconciler) checkReady(_ context.Context, p *pass) flow.Outcome {
	ready := p.managed.GetCondition(xpv1.TypeReady)
	usable := ready.Status == corev1.ConditionTrue || ready.Reason == "" || ready.Reason == failure.ConnectionDetailsLost
	if !usable { // if connection details were lost, the claim's Secret may have them
		return r.awaitManaged(xpv1.ReasonUnavailable, p.managed)
	}
	if p.problem != nil {
		return flow.RejectedAs(failure.Of(p.problem).Reason, p.problem)
	}
	if failed := xpv1.FailureOf(p.managed); p.Remark == "" && failed.Reason != "" && failed.Reason != failure.ExternalSystemThrottled {
		p.Remark = fmt.Sprintf("Managed resource %s %q is usable, but its last reconcile failed%s", r.managedKind.Kind, p.managed.GetName(),
			wording.ForTeam(failed))
	}
	return flow.Next()
}

// checkSelector has the claim show that a changed selector has no effect.
func (r *Reconciler) checkSelector(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetClassReference()
	if p.Remark != "" || p.claim.GetClassSelector() == nil || !objects.IsOf(ref, r.classKind) {
		return flow.Next()
	}
	class := r.newClass()
	err := r.client.Get(ctx, types.NamespacedName{Name: ref.Name}, class) // it may be deleted (R277)
	selector, invalid := metav1.LabelSelectorAsSelector(p.claim.GetClassSelector())
	if err == nil && invalid == nil && !selector.Matches(labels.Set(class.GetLabels())) {
		p.Remark = fmt.Sprintf("spec.classSelector does not match class %q of this claim and has no effect: a claim keeps its managed "+
			"resource. To use another class, create another claim.", ref.Name)
	}
	return flow.Next()
}

// awaitManaged waits for a managed resource that cannot be used. If its external resource is lost, waiting alone does not help (N38).
func (r *Reconciler) awaitManaged(reason xpv1.ConditionReason, mg resource.BindableManaged) flow.Outcome {
	if xpv1.FailureOf(mg).Reason == failure.ExternalResourceLost {
		return flow.Refuse(xpv1.ReasonResourceLost, "%s", wording.WhyNotReady(r.managedKind.Kind, mg))
	}
	o := flow.AwaitAs(reason, "%s", wording.WhyNotReady(r.managedKind.Kind, mg))
	if o.Cause = xpv1.FailureOf(mg).Reason; wording.IsNameUnusable(o.Cause) {
		o.Cause = failure.InvalidSettings
	}
	return o
}
