// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// own refuses an external resource of another owner, of which the object then shows nothing, and the loss of its own (N24, N38).
func (r *Reconciler) own(ctx context.Context, p *pass) outcome {
	if o := r.checkSystem(p); o.End != flow.Continue {
		return o
	}
	switch {
	case !p.observation.ResourceExists:
		return r.checkLost(p)
	case p.owns():
		return r.recordAdoption(ctx, p)
	case p.isReplaced():
		return r.replaced(p)
	}
	if err := p.showNothing(); err != nil {
		return failed(ReasonCannotObserve, err)
	}
	p.noteCondition(xpv1.Unavailable())
	if p.isUnlabelled() {
		return rejected(ReasonCannotInitialize, p.unproven())
	}
	return failed(ReasonCannotInitialize, failure.ForTeam(failure.ExternalNameTaken, cmp.Or(p.nameTaken(), p.observation.Description), p.refusal()))
}

// recordAdoption has the client record that the object has the external resource. An error, such as that another object is faster, leaves it
// unknown what the object has.
func (r *Reconciler) recordAdoption(ctx context.Context, p *pass) outcome {
	adopter, records := optional[Adopter](p.external)
	if !records || p.planning {
		return flow.Next()
	}
	left, err := adopter.Adopt(ctx, p.managed)
	if left != "" {
		p.note(event.Normal(ReasonOrphaned, fmt.Sprintf("The external resource %s stays, and no object has it any more: the external name of this one "+
			"was changed to %s. Delete it in the external system, or import it, if it is not used otherwise.", left, meta.GetExternalName(p.managed))))
	}
	if err == nil {
		return flow.Next()
	}
	return failed(ReasonCannotObserve, errors.Join(callFailed("adopting", err), p.showNothing()))
}

// showNothing has the object show nothing of what this pass observed.
func (p *pass) showNothing() error {
	p.observed = false
	p.noteCondition(p.applied...)
	return p.rebuild(func(u tree) {
		put(u, "spec", p.spec())
		put(u, "status", p.status())
	})
}

// nameTaken is what the author of a claim can do about an external name that it proposed and that is taken. It does not show whether
// others use the name. In all other cases the name is a matter of the platform team.
func (p *pass) nameTaken() string {
	if !meta.IsExternalNameProposed(p.managed) {
		return ""
	}
	return fmt.Sprintf("the external name %q, which the claim proposes, cannot be used: delete the claim and create it again with another name "+
		"in its annotation %s, or without one", meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName)
}

// refusal is the error about an external resource that belongs to another object, with what the platform team can do.
func (p *pass) refusal() error {
	name, what := meta.GetExternalName(p.managed), "was not created for this object"
	adopt := fmt.Sprintf("to adopt it with its data, set the annotation %s: %s", meta.AnnotationKeyExternalName, name)
	if meta.IsExternalNameProposed(p.managed) {
		adopt = fmt.Sprintf("to give it with its data to the claim that proposed the name, remove the annotation %s",
			meta.AnnotationKeyExternalNameProposed)
	}
	if !meta.GetExternalCreatePending(p.managed).IsZero() {
		adopt += " and remove the annotations crossplane.io/external-create-*"
	}
	if owner := p.observation.Owner; owner != nil && *owner != "" {
		what = fmt.Sprintf("belongs to another object, whose UID is %s", *owner)
		adopt = fmt.Sprintf("to take it over with the data of that object, delete that object with deletionPolicy Orphan if it exists, permit "+
			"Update, and set the annotation %s: %s", meta.AnnotationKeyTakeOverFrom, *owner)
	}
	switch err := p.checkAdoption(); {
	case err != nil && p.observation.Owner == nil && p.adoption.Namespace != "":
		adopt = fmt.Sprintf("nothing shows whose resources of this kind are, so that none is adopted through %s, which is for all namespaces; %s",
			p.adoption.Of, p.howToProve())
	case err != nil:
		adopt = err.Error()
	}
	other := fmt.Sprintf("to use another one, set the annotation %s to another name", meta.AnnotationKeyExternalName)
	if p.observation.Owner == nil && !meta.IsExternalNameProposed(p.managed) { // such as privileges, of which there are no others of another name
		other = "delete this object or the one that created it, or remove it in the external system to have it created again"
	}
	err := fmt.Errorf("external resource %q exists already and %s: %s; %s", name, what, other, adopt)
	if d := p.observation.Description; d != "" {
		return fmt.Errorf("%s: %w", d, err)
	}
	return err
}

// owns is true if the observed external resource belongs to this object, or the object only observes it. One that carries this
// object's label does. One with the label of another object is taken over only with an annotation that names its owner, and if the
// object may label it. One without a label belongs to the object if that had it before, since people remove labels, or if a user gave
// its name; where resources cannot carry labels, also if its creation was interrupted. Annotations prove nothing where the configuration
// does not permit to adopt the resource: the status must prove it. Where a configuration is shared with other namespaces and there can
// be labels, that must show the namespace of the object (N5, N6, N23, N24, N48, N54). One that replaced the object's own is not (N63).
func (p *pass) owns() bool {
	owner, shared := p.observation.Owner, p.adoption.Namespace != ""
	had := HadExternalResource(p.managed) || !meta.GetExternalCreateSucceeded(p.managed).IsZero() ||
		owner == nil && meta.ExternalCreateIncomplete(p.managed)
	adopts := !meta.WasDeleted(p.managed) && p.checkAdoption() == nil
	switch {
	case p.onlyObserves(), owner != nil && *owner == p.managed.GetUID():
		return true
	case owner != nil && *owner != "":
		return adopts && p.takesOver() && p.allows(xpv1.ManagementActionUpdate)
	case p.isReplaced():
		return false
	case had && (owner == nil || !shared) && (p.checkAdoption() == nil || p.isProven()):
		return true
	default:
		return adopts && (had || p.nameGiven)
	}
}

// isUnlabelled is true for an external resource that the object had, and that lost the label which proves it, or never could have one.
// People who own it in the external system may remove its labels. Annotations alone are no sign that the object had it: authors of objects
// write these, but no statuses.
func (p *pass) isUnlabelled() bool {
	owner := p.observation.Owner
	known := wasReady(p.ready) || slices.ContainsFunc(p.states, func(c xpv1.Condition) bool { return c.Reason == failure.OwnershipUnproven })
	return known && (owner == nil || *owner == "") && HadExternalResource(p.managed)
}

// unproven is the error about such a resource, where the configuration does not permit to adopt it: it may be another one.
func (p *pass) unproven() error {
	const team = "nothing proves any more that the external resource belongs to this object: ask your platform team to check that"
	return failure.ForTeam(failure.OwnershipUnproven, team, fmt.Errorf("external resource %q shows no owner, and may belong to others: "+
		"%s; to delete only the object, set the annotation %s: \"true\"",
		meta.GetExternalName(p.managed), p.howToProve(), meta.AnnotationKeyOrphanOnDelete))
}

// howToProve is what the platform team can do about an external resource that is the object's own and shows no owner.
func (p *pass) howToProve() string {
	if p.observation.Owner != nil {
		return fmt.Sprintf("if it was created for this object, label it again with %s: %s", meta.ExternalLabelUID, p.managed.GetUID())
	}
	now, _ := json.Marshal(p.ownershipNow())
	return fmt.Sprintf("if it was created for this object, set %s to %s by kubectl edit --subresource=status", ownership, now)
}

// takesOver is true if the object names the owner of the observed external resource as the one to take it over from.
func (p *pass) takesOver() bool {
	owner := p.observation.Owner
	return owner != nil && *owner != "" && p.annotations[meta.AnnotationKeyTakeOverFrom] == string(*owner)
}

// checkAdoption returns why the ProviderConfig does not permit to adopt the observed external resource, nil if it does.
func (p *pass) checkAdoption() error {
	o := p.observation
	return p.adoption.Check(meta.GetExternalName(p.managed), o.Owner != nil && *o.Owner != "", o.OwnerNamespace)
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
	reported := p.memory.seen || wasReady(p.ready) || p.ready.Reason == xpv1.ReasonResourceLost
	had := HadExternalResource(p.managed) || reported && !meta.ExternalCreateUnacknowledged(p.managed)
	if p.ended.verb == verbCreate || !had || !p.keepsData || p.observation.Replacing {
		return flow.Next()
	}
	if o := r.awaitAppearance(p); o.End != flow.Continue {
		return o
	}
	if p.recreate == nil {
		return flow.Next()
	}
	const team = "the external resource is gone, with its data: ask your platform team to restore it, or to permit an empty one"
	return p.lost("gone, with its data", team, fmt.Errorf("external resource %q is gone, with its data, and is not created again: restore it "+
		"under this name, or correct the annotation %s; to create an empty one, set the annotation %s to %q (%w)",
		meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName, meta.AnnotationKeyRecreate, p.managed.GetUID(), p.recreate))
}

// lost ends the pass of an object whose data are lost.
func (p *pass) lost(is, team string, err error) outcome {
	message := "The external resource is " + is + "."
	p.noteCondition(xpv1.ResourceLost().WithMessage(message))
	p.setDrift(notInSync(xpv1.ReasonResourceLost, message), nil)
	return rejected(ReasonExternalLost, failure.ForTeam(failure.ExternalResourceLost, team, err))
}

// keepsData is true for an object whose external resource, once lost, is created again only with permission.
func (r *Reconciler) keepsData(mg resource.Managed) bool {
	policy := r.recreatePolicy
	if o, ok := mg.(resource.Recreatable); ok {
		policy = cmp.Or(o.GetRecreatePolicy(), policy)
	}
	return policy != xpv1.RecreateAlways
}
