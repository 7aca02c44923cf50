// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// judgeReferences finds whether nobody serves the kinds that a claim names.
func (r *Reconciler) judgeReferences(claim resource.Claim) verdict {
	var message string
	for _, named := range []struct {
		field, what string
		ref         *corev1.ObjectReference
		offers      func(schema.GroupVersionKind) (bool, error)
	}{
		{"resourceRef", "managed resources", claim.GetResourceReference(), r.classes.OffersResource},
		{"classRef", "classes", claim.GetClassReference(), r.classes.OffersClass},
	} {
		if named.ref == nil {
			continue
		}
		offers, err := named.offers(named.ref.GroupVersionKind())
		if err != nil {
			return r.unknown(err)
		}
		if offers {
			return verdict{} // its controllers speak for the claim
		}
		message = fmt.Sprintf("spec.%s names kind %s in version %s, and no provider has such %s for claims of this kind. Name another one, "+
			"or ask your platform team to install the provider.", named.field, named.ref.GroupVersionKind().GroupKind(),
			named.ref.GroupVersionKind().Version, named.what)
	}
	return verdict{ready: xpv1.Waiting(xpv1.ReasonClassNotFound, message)}
}

// unknown is the verdict while it cannot be known which classes there are. Why is for the log: it is about the platform.
func (r *Reconciler) unknown(why error) verdict {
	r.log.V(1).Info("Cannot judge claims yet", "reason", why.Error())
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonNoMatchingClass, "Which classes there are could not be found out yet. "+
		"If this stays so, ask your platform team to look into the log of the controllers.")}
}
