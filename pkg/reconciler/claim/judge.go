// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"errors"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/classes"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// finalizer is on claims that package claimbinding has begun with (9.1).
const finalizer = "finalizer.resourceclaim.crossplane.io"

// A verdict is what is to be said on a claim.
type verdict struct {
	ready   xpv1.Condition // nothing if it has no type
	patient bool           // say it only if others had time to act
}

// taken is true for claims that somebody else speaks for, whatever they name.
func taken(claim resource.Claim) bool {
	return meta.WasDeleted(claim) || meta.FinalizerExists(claim, finalizer)
}

// judge finds why a claim gets nothing.
func (r *Reconciler) judge(claim resource.Claim) verdict {
	if taken(claim) {
		return verdict{}
	}
	if claim.GetClassReference() != nil || claim.GetResourceReference() != nil {
		return r.judgeReferences(claim)
	}
	class, err := r.classes.Choose(claim)
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
// does for package claimbinding.
func (r *Reconciler) judgeReferences(claim resource.Claim) verdict {
	field, what, ref, offers := "classRef", "classes", claim.GetClassReference(), r.classes.OffersClass
	if mg := claim.GetResourceReference(); mg != nil {
		field, what, ref, offers = "resourceRef", "managed resources", mg, r.classes.OffersResource
	}
	kind := ref.GroupVersionKind().GroupKind()
	offered, err := offers(kind)
	switch {
	case err != nil:
		return r.unknown(err)
	case offered:
		return verdict{} // its controllers speak for the claim
	}
	return verdict{ready: xpv1.Waiting(xpv1.ReasonClassNotFound, fmt.Sprintf("spec.%s names kind %s, and no provider has such %s for claims "+
		"of this kind. Name another one, or ask your platform team to install the provider.", field, kind, what))}
}

// unknown is the verdict while it cannot be known which classes there are. Why is for the log: it is about the platform.
func (r *Reconciler) unknown(why error) verdict {
	r.log.V(1).Info("Cannot judge claims yet", "reason", why.Error())
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonNoMatchingClass, "Which classes there are could not be found out yet. "+
		"If this stays so, ask your platform team to look into the log of the controllers.")}
}
