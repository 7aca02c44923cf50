// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/classes"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A verdict is what is to be said on a claim, or done with it.
type verdict struct {
	ready   xpv1.Condition // nothing if it has no type
	letGo   bool           // its deletion may finish
	patient bool           // only if others had time to act
}

// left is true for claims that need nobody any more.
func left(claim resource.Claim) bool {
	return meta.WasDeleted(claim) && !meta.FinalizerExists(claim, meta.FinalizerClaim)
}

// judge finds why a claim gets nothing, or cannot go.
func (r *Reconciler) judge(ctx context.Context, claim resource.Claim) verdict {
	switch {
	case left(claim):
		return verdict{}
	case claim.GetClassReference() != nil || claim.GetResourceReference() != nil:
		return r.judgeReferences(claim)
	case meta.WasDeleted(claim): // and it names nothing that somebody could serve
		return verdict{letGo: true}
	}
	class, err := r.classes.Choose(ctx, claim)
	if none, ok := errors.AsType[*classes.NoChoiceError](err); ok {
		return verdict{ready: xpv1.Waiting(none.Reason, none.Message)}
	}
	if err != nil {
		return r.unknown(err)
	}
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonBinding, fmt.Sprintf("The claim is to get %s, but no controller gives it "+
		"that. Ask your platform team whether the provider of this class runs.", class))}
}

// judgeReferences finds whether nobody serves what a claim names. Where it names a managed resource only that counts, as it
// does for package claimbinding. One that package claimbinding began with gets time, since its class may be served though no
// definition says so, and nothing is said on it while it is bound. If it names no managed resource it may go: what may have been
// made for it names a claim that is gone then, and package claimbinding does with that what its reclaim policy says.
func (r *Reconciler) judgeReferences(claim resource.Claim) verdict {
	field, what, ref, offers := "classRef", "classes", claim.GetClassReference(), r.classes.OffersClass
	mg := claim.GetResourceReference()
	if mg != nil {
		field, what, ref, offers = "resourceRef", "managed resources", mg, r.classes.OffersResource
	}
	begun, deleted := meta.FinalizerExists(claim, meta.FinalizerClaim), meta.WasDeleted(claim)
	kind := ref.GroupVersionKind().GroupKind()
	offered, err := offers(kind)
	switch {
	case err != nil && !begun:
		return r.unknown(err)
	case err != nil, offered, begun && !deleted && claim.GetBindingPhase() == xpv1.BindingPhaseBound:
		return verdict{} // its controllers speak for the claim
	}
	why := fmt.Sprintf("spec.%s names kind %s, and no provider has such %s for claims of this kind. ", field, kind, what)
	then := "Name another one, or ask your platform team to install the provider."
	if deleted {
		then = "The claim can go once your platform team has installed the provider again, or has removed its finalizer."
	}
	return verdict{letGo: deleted && mg == nil, patient: begun, ready: xpv1.Waiting(xpv1.ReasonClassNotFound, why+then)}
}

// unknown is the verdict while it cannot be known which classes there are, or which is for the claim. Why is for the log: it is
// about the platform.
func (r *Reconciler) unknown(why error) verdict {
	r.log.V(1).Info("Cannot judge claims yet", "reason", why.Error())
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonNoMatchingClass, "Which classes there are for the claim could not be "+
		"found out yet. If this stays so, ask your platform team to look into the log of the controllers.")}
}
