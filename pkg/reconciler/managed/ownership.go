// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// checkOwnership refuses an external resource that somebody else made (N24). The object then tells nothing about it.
func (r *Reconciler) checkOwnership(_ context.Context, p *pass) outcome {
	if !p.observation.ResourceExists || p.owns() {
		return next()
	}
	if err := p.forgetObservation(); err != nil {
		return fail(ReasonCannotObserve, err)
	}
	p.managed.SetConditions(xpv1.Unavailable())
	return fail(ReasonCannotInitialize, p.refusal())
}

// refusal says what a user can do about an external resource of somebody else's.
func (p *pass) refusal() error {
	name := meta.GetExternalName(p.managed)
	adopt := fmt.Sprintf("set the annotation %s: %s", meta.AnnotationKeyExternalName, name)
	if meta.IsExternalNameProposed(p.managed) {
		adopt = fmt.Sprintf("remove the annotation %s, by which a claim proposed the name", meta.AnnotationKeyExternalNameProposed)
	}
	if !meta.GetExternalCreatePending(p.managed).IsZero() {
		adopt += " and remove the annotations crossplane.io/external-create-*"
	}
	if owner := p.observation.Owner; owner != nil && *owner != "" {
		return fmt.Errorf("external resource %q exists already and belongs to another object, whose UID is %s: delete that object "+
			"with deletionPolicy Orphan first, then %s; to use another one, set the annotation %s to another name",
			name, *owner, adopt, meta.AnnotationKeyExternalName)
	}
	return fmt.Errorf("external resource %q exists already and was not created for this object: to adopt it, %s; "+
		"to use another one, set the annotation %s to another name", name, adopt, meta.AnnotationKeyExternalName)
}

// owns is true if the observed external resource is this object's (N5, N6, N23, N24), or the object only looks at it. A
// resource that names this object as its owner is this object's. One that names another owner is taken over if a user gave
// its name, which is consent, and if the object may be labelled ours: once, since two objects must not fight for one
// resource. One that names nobody is ours if a user gave its name or we recorded its creation, since people remove labels;
// where resources cannot carry labels, also if our creation of it was cut off.
func (p *pass) owns() bool {
	created := !meta.GetExternalCreateSucceeded(p.managed).IsZero()
	owner := p.observation.Owner
	switch {
	case p.onlyLooks(), owner != nil && *owner == p.managed.GetUID():
		return true
	case owner != nil && *owner != "":
		return p.nameGiven && !meta.FinalizerExists(p.managed, Finalizer) && p.allows(xpv1.ManagementActionUpdate)
	case owner == nil:
		return p.nameGiven || created || meta.ExternalCreateIncomplete(p.managed)
	default:
		return p.nameGiven || created
	}
}
