// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// find finds the managed resource that the claim names (R256), or that an interrupted pass created before the claim named it
// (R268). A claim without the finalizer has none of its own, since the finalizer is written first.
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
	return flow.AwaitAs(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q, which was created for this claim before, is being deleted. "+
		"Wait: another is created afterwards.", r.managedKind.Kind, mg.GetName()))
}

func (r *Reconciler) findNamed(ctx context.Context, p *pass, ref *corev1.ObjectReference) flow.Outcome {
	if !isName(ref.Name) {
		return flow.RejectedAs(xpv1.ReasonBinding, fmt.Errorf("%q in spec.resourceRef cannot be the name of a managed resource: delete the claim "+
			"and create it again with another one", objects.Shorten(ref.Name, mostBaseLength)))
	}
	mg := r.newManaged()
	key := types.NamespacedName{Name: ref.Name}
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
		return flow.RejectedAs(xpv1.ReasonNotAllowed, fmt.Errorf("managed resource %s %q does not allow this claim: name another one in "+
			"spec.resourceRef, or ask your platform team to let its spec.claimRef name this claim, or to list namespace %q in its "+
			"annotation %s while it belongs to no claim", r.managedKind.Kind, ref.Name, p.claim.GetNamespace(),
			meta.AnnotationKeyAllowedNamespaces))
	case meta.WasDeleted(mg):
		return flow.AwaitAs(xpv1.ReasonResourceLost, fmt.Sprintf("Managed resource %s %q is being deleted, and is not replaced: delete the "+
			"claim and create another.", r.managedKind.Kind, ref.Name))
	}
	p.managed = mg
	return flow.Next()
}

// missing reports that the managed resource was lost, if the claim ever had it (R280), or else does not exist yet (R275).
func (r *Reconciler) missing(p *pass, ref *corev1.ObjectReference) flow.Outcome {
	had := p.claim.GetBindingPhase() == xpv1.BindingPhaseBound || ref.UID != "" ||
		p.claim.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonResourceLost
	if had {
		return flow.RejectedAs(xpv1.ReasonResourceLost, fmt.Errorf("managed resource %s %q of this claim is gone, and is not replaced: delete "+
			"the claim and create another", r.managedKind.Kind, ref.Name))
	}
	return flow.RejectedAs(xpv1.ReasonBinding, fmt.Errorf("managed resource %s %q does not exist: create the claim again with another "+
		"spec.resourceRef, or ask your platform team to create the managed resource", r.managedKind.Kind, ref.Name))
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
	return objects.List[resource.BindableManaged](ctx, from, r.scheme, r.managedKind, o...)
}
