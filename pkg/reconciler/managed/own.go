// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// own refuses an external resource of another owner, of which the object then shows nothing, and the loss of its own (N24, N38).
func (r *Reconciler) own(_ context.Context, p *pass) outcome {
	switch {
	case !p.observation.ResourceExists:
		return r.checkLost(p)
	case p.owns():
		return flow.Next()
	}
	p.observed = false
	err := p.rebuild(func(u tree) {
		put(u, "spec", p.spec)
		put(u, "status", p.status)
	})
	if err != nil {
		return failed(ReasonCannotObserve, err)
	}
	p.noteCondition(xpv1.Unavailable())
	return failed(ReasonCannotInitialize, failure.ForTeam(failure.ExternalNameTaken, p.nameTaken(), p.refusal()))
}

// nameTaken is what the author of a claim can do about an external name that it proposed and that is taken. In all other
// cases the name is a matter of the platform team.
func (p *pass) nameTaken() string {
	if !meta.IsExternalNameProposed(p.managed) {
		return ""
	}
	return fmt.Sprintf("the external name %q, which the claim proposes, is taken: delete the claim and create it again with another name "+
		"in its annotation %s, or without one", meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName)
}

// refusal is the error about an external resource that belongs to another object, with what a user can do.
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

// owns is true if the observed external resource belongs to this object, or the object only observes it. One that carries
// this object's label does. One with the label of another object is taken over if a user gave its name, which is consent,
// and if the object may label it: once, since two objects must not fight for one resource. One without a label belongs to
// the object if a user gave its name or its creation was recorded, since people remove labels; where resources cannot carry
// labels, also if its creation was interrupted (N5, N6, N23, N24).
func (p *pass) owns() bool {
	created := !meta.GetExternalCreateSucceeded(p.managed).IsZero()
	owner := p.observation.Owner
	switch {
	case p.onlyObserves(), owner != nil && *owner == p.managed.GetUID():
		return true
	case owner != nil && *owner != "":
		return p.nameGiven && !meta.FinalizerExists(p.managed, Finalizer) && p.allows(xpv1.ManagementActionUpdate)
	case owner == nil:
		return p.nameGiven || created || meta.ExternalCreateIncomplete(p.managed)
	default:
		return p.nameGiven || created
	}
}

// HadExternalResource is true for an object whose external resource was created or adopted. It is false again from the beginning of
// another creation until that succeeds.
func HadExternalResource(o metav1.Object) bool {
	created := !meta.GetExternalCreateSucceeded(o).IsZero()
	adopted := meta.FinalizerExists(o, Finalizer) && meta.GetExternalName(o) != ""
	return (created || adopted) && !meta.ExternalCreateUnacknowledged(o)
}

// checkLost ends the pass of an object whose external resource held data and is gone: an empty one would hide the loss (N38). Polls
// continue, so that the object recovers once the resource is restored.
func (r *Reconciler) checkLost(p *pass) outcome {
	reported := p.memory.seen || p.ready.Status == corev1.ConditionTrue || p.ready.Reason == xpv1.ReasonResourceLost
	had := HadExternalResource(p.managed) || reported && !meta.ExternalCreateUnacknowledged(p.managed)
	policy := r.recreatePolicy
	if o, ok := p.managed.(resource.Recreatable); ok {
		policy = cmp.Or(o.GetRecreatePolicy(), policy)
	}
	if p.ended.verb == verbCreate || !had || policy == xpv1.RecreateAlways {
		return flow.Next()
	}
	if o := r.awaitAppearance(p); o.End != flow.Continue {
		return o
	}
	refused := meta.CheckRecreate(p.managed, r.now())
	if refused == nil {
		return flow.Next()
	}
	const team = "the external resource is gone, with its data: ask your platform team to restore it, or to permit an empty one"
	p.noteCondition(xpv1.ResourceLost().WithMessage("The external resource is gone, with its data."))
	return rejected(ReasonExternalLost, failure.ForTeam(failure.ExternalResourceLost, team, fmt.Errorf(
		"external resource %q is gone, with its data, and is not created again: restore it under this name, or correct the annotation %s; to "+
			"create an empty one, set the annotation %s to %q (%w)", meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName,
		meta.AnnotationKeyRecreate, p.managed.GetUID(), refused)))
}
