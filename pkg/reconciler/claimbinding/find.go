// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// find finds the managed resource that the claim names (R256), or that an earlier pass made for it and was cut off before the
// claim named it (R268). A claim without the finalizer cannot have one of its own, since it is written first.
func (r *Reconciler) find(ctx context.Context, p *pass) outcome {
	if ref := p.claim.GetResourceReference(); ref != nil {
		return r.findNamed(ctx, p, ref)
	}
	if !meta.FinalizerExists(p.claim, Finalizer) {
		return next()
	}
	made, err := r.made(ctx, p.claim.GetUID())
	if err != nil {
		return fail(err)
	}
	for _, mg := range made {
		if meta.WasDeleted(mg) {
			return r.dying(p, mg)
		}
		p.managed = mg
	}
	return next()
}

// dying waits for what was made for the claim and is being deleted, because the claim named another class for a while. It is
// made again once it is gone, since the claim never had it.
func (r *Reconciler) dying(p *pass, mg resource.BindableManaged) outcome {
	r.waiting.wait(client.ObjectKeyFromObject(p.claim), managedTopic(mg.GetName()))
	return await(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q, which was made for this claim before, is being deleted. Wait "+
		"until it is gone: then another is made.", r.managedKind.Kind, mg.GetName()))
}

func (r *Reconciler) findNamed(ctx context.Context, p *pass, ref *corev1.ObjectReference) outcome {
	if !isName(ref.Name) {
		return refuse(xpv1.ReasonBinding, fmt.Errorf("%q in spec.resourceRef cannot be the name of a managed resource: delete the claim "+
			"and make it again with another one", shortName(ref.Name)))
	}
	r.waiting.wait(client.ObjectKeyFromObject(p.claim), managedTopic(ref.Name))
	mg := r.newManaged()
	key := types.NamespacedName{Name: ref.Name}
	err := r.client.Get(ctx, key, mg)
	if apierrors.IsNotFound(err) { // the cache may be behind, and it is a serious thing to say
		mg = r.newManaged()
		err = r.live.Get(ctx, key, mg)
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.missing(p, ref)
	case err != nil:
		return fail(fmt.Errorf("reading the managed resource: %w", err))
	case !r.belongs(mg, p.claim) && ref.UID != "" && ref.UID != mg.GetUID():
		return r.missing(p, ref)
	case !r.belongs(mg, p.claim) && !r.consents(mg, p.claim):
		if err := r.disown(ctx, p, mg); err != nil {
			return fail(err)
		}
		return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("managed resource %s %q is not for this claim: name another one in "+
			"spec.resourceRef, or ask your platform team to let its spec.claimRef name this claim, or to list namespace %q in its "+
			"annotation %s while it belongs to no claim", r.managedKind.Kind, ref.Name, p.claim.GetNamespace(),
			meta.AnnotationKeyAllowedNamespaces))
	case meta.WasDeleted(mg):
		return await(xpv1.ReasonResourceLost, fmt.Sprintf("Managed resource %s %q is being deleted. Nothing else is made in its place: "+
			"delete the claim and make another.", r.managedKind.Kind, ref.Name))
	}
	p.managed = mg
	return next()
}

// missing says that there is no managed resource of the name: it was lost, if the claim ever had it (R280), else it is not
// there yet (R275).
func (r *Reconciler) missing(p *pass, ref *corev1.ObjectReference) outcome {
	had := p.claim.GetBindingPhase() == xpv1.BindingPhaseBound || ref.UID != "" ||
		p.claim.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonResourceLost
	if had {
		return refuse(xpv1.ReasonResourceLost, fmt.Errorf("managed resource %s %q of this claim is gone; nothing else is made in its "+
			"place: delete the claim and make another", r.managedKind.Kind, ref.Name))
	}
	return refuse(xpv1.ReasonBinding, fmt.Errorf("managed resource %s %q does not exist: correct spec.resourceRef, which takes a new "+
		"claim, or ask your platform team to make it", r.managedKind.Kind, ref.Name))
}

// isUnserved is true for an error that says that nothing of the kind can be there: its definition is gone.
func isUnserved(err error) bool { return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// made returns what was made for a claim, as the API server has it.
func (r *Reconciler) made(ctx context.Context, claim types.UID) ([]resource.BindableManaged, error) {
	list := r.newManagedList()
	err := r.live.List(ctx, list, client.MatchingLabels{LabelClaimUID: string(claim)})
	if isUnserved(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for what was made for the claim: %w", err)
	}
	all, err := bindables(list)
	return slices.DeleteFunc(all, func(mg resource.BindableManaged) bool {
		ref := mg.GetClaimReference()
		return ref == nil || ref.UID != claim // an administrator gave it to somebody else
	}), err
}

// belongs is true for a managed resource that names exactly this claim.
func (r *Reconciler) belongs(mg resource.BindableManaged, claim resource.Claim) bool {
	ref := mg.GetClaimReference()
	return ref != nil && ref.UID == claim.GetUID()
}

// consents is true for a managed resource that belongs to no claim and agrees to belong to this one (N27, R274).
func (r *Reconciler) consents(mg resource.BindableManaged, claim resource.Claim) bool {
	if ref := mg.GetClaimReference(); ref != nil {
		return ref.UID == "" && r.names(ref, client.ObjectKeyFromObject(claim))
	}
	for allowed := range strings.SplitSeq(mg.GetAnnotations()[meta.AnnotationKeyAllowedNamespaces], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == claim.GetNamespace() {
			return true
		}
	}
	return false
}

// names is true for a reference to a claim of our kind, of whatever version, by namespace and name.
func (r *Reconciler) names(ref *corev1.ObjectReference, claim types.NamespacedName) bool {
	return isOf(ref, r.claimKind) && meta.NamespacedNameOf(ref) == claim
}

func bindables(list client.ObjectList) (all []resource.BindableManaged, err error) {
	err = apimeta.EachListItem(list, func(o runtime.Object) error {
		mg, ok := o.(resource.BindableManaged)
		if !ok {
			return fmt.Errorf("%T does not satisfy resource.BindableManaged", o)
		}
		all = append(all, mg)
		return nil
	})
	return all, err
}
