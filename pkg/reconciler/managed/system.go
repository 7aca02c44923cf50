// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// externalSystem is the field of the status that records in which external system the external resource is (N55).
const externalSystem = "externalSystem"

// connectedSystem is the external system of a client that knows it without asking for a resource.
func connectedSystem(external any) (s xpv1.ExternalSystem) {
	if identifier, knows := optional[SystemIdentifier](external); knows {
		s = identifier.ExternalSystem()
	}
	return s
}

// noteSystem remembers the external system in which the external resource was found, or in which its creation begins. One that shows no
// id is no other one. The status gets it with the other changes of the pass.
func (p *pass) noteSystem() {
	is := p.observation.System
	if is.ID == "" || is == p.memory.system {
		return
	}
	p.memory.system, p.memory.systemStored = is, false
	if p.left.ID != "" {
		p.note(event.Normal(ReasonOrphaned, fmt.Sprintf("The external resource %s stays in external system %s, since annotation %s permits to "+
			"create another one in %s.", meta.GetExternalName(p.managed), p.left, meta.AnnotationKeyRecreate, is)))
	}
}

// recordSystem records in the status what this process remembers, once: the schema of the kind may lack the field.
func (p *pass) recordSystem() error {
	is := p.memory.system
	if is.ID == "" || p.memory.systemStored || is == p.memory.stored.system {
		return nil
	}
	return p.setStatus(externalSystem, tree{"id": is.ID, "name": is.Name})
}

// knownSystem is where the external resource is, as far as this process or the object knows. The mark of a creation without a result is newer
// than the status.
func (p *pass) knownSystem() xpv1.ExternalSystem {
	if p.memory.system.ID != "" {
		return p.memory.system
	}
	stored, began := p.memory.stored.system, p.managed.GetAnnotations()[meta.AnnotationKeyExternalCreateSystem]
	if stored.ID == "" || meta.ExternalCreateIncomplete(p.managed) && began != "" && began != stored.ID {
		return xpv1.ExternalSystem{ID: began}
	}
	return stored
}

// descendsFrom is true if the id of an external system shows that it is the given one, or a restored copy of that (N60).
func descendsFrom(origin, id string) bool {
	return origin != "" && (id == origin || strings.HasSuffix(id, "/"+origin))
}

// isInRelatedSystem is true if the external resource was found in the original of the system that has the object's own, or in another
// restored copy of that original. It belongs to an object of another control plane, which has the same UID, unless a person accepts that
// system. A copy of the object's own system is its successor: that is what a restored control plane finds.
func (p *pass) isInRelatedSystem() bool {
	was, is := p.knownSystem().ID, p.observation.System.ID
	related := descendsFrom(is, was) || descendsFrom(p.observation.SystemOrigin, was)
	return p.observation.ResourceExists && is != "" && related && !descendsFrom(was, is) && p.annotations[meta.AnnotationKeyRestoredAs] != is
}

// isElsewhere is true if the object's own external resource was not found, and may be in another external system than the one that was
// asked. A creation that created nothing left nothing there.
func (p *pass) isElsewhere() bool {
	was, is := p.knownSystem(), p.observation.System
	created := !meta.ExternalCreateUnacknowledged(p.managed) || meta.ExternalCreateIncomplete(p.managed) && !p.nothingCreated()
	found := p.observation.ResourceExists && p.owns()
	return !found && created && was.ID != "" && is.ID != "" && !descendsFrom(was.ID, is.ID)
}

// checkSystem ends the pass of an object whose external resource may be in another external system. Then it is unknown whether the resource
// can be used there, so that this pass reports no state of it. Polls continue: the object recovers once the configuration is corrected.
func (r *Reconciler) checkSystem(p *pass) outcome {
	related := p.isInRelatedSystem()
	if !related && !p.isElsewhere() {
		return flow.Next()
	}
	was, is := p.knownSystem(), p.observation.System
	what, state := fmt.Sprintf("external resource %q was last seen", meta.GetExternalName(p.managed)), "which does not have it, or has another one of that name"
	if meta.GetExternalName(p.managed) == "" {
		what, state = "a creation whose result is not known began", "where it is not looked for"
	}
	reason, remedy := ReasonCannotDelete, "" // see suggestOrphan
	if related {
		state = "the original of that copy, where it belongs to another control plane"
		if !descendsFrom(is.ID, was.ID) {
			state = "another copy of the same original, where it belongs to another control plane"
		}
		remedy = fmt.Sprintf("; if this is that control plane, set the annotation %s to %q", meta.AnnotationKeyRestoredAs, is.ID)
	}
	if !meta.WasDeleted(p.managed) {
		reason = ReasonCannotObserve
	}
	if !meta.WasDeleted(p.managed) && !related {
		if p.recreate == nil {
			p.left = was
			return flow.Next()
		}
		remedy = fmt.Sprintf("; to create another one there, without the data, set the annotation %s to %q (%s)",
			meta.AnnotationKeyRecreate, p.managed.GetUID(), p.recreate)
	}
	if err := p.showNothing(); err != nil {
		return failed(reason, err)
	}
	const team = "the external resource is in another external system than the one that its configuration leads to now: ask your platform team " +
		"to correct the configuration"
	return rejected(reason, failure.ForTeam(failure.ExternalSystemChanged, team, fmt.Errorf("%s in external system %s, and its ProviderConfig "+
		"leads to %s now, %s: point the ProviderConfig or its Secret back%s", what, was, is, state, remedy)))
}
