// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// externalIdentity is the field of the status that tells the object's external resource from later ones of the same name (N63).
const externalIdentity = "externalIdentity"

// noteIdentity remembers the identity of the object's own external resource. The status gets it with the other changes of the pass.
func (p *pass) noteIdentity() {
	is := p.observedIdentity()
	if is.ID != "" && is != p.memory.identity && !p.onlyObserves() {
		p.memory.identity, p.memory.systemStored = is, false
	}
}

func (p *pass) observedIdentity() xpv1.ExternalIdentity {
	return xpv1.ExternalIdentity{ExternalName: meta.GetExternalName(p.managed), ID: p.observation.ID}
}

// recordIdentity records in the status what this process remembers, once: the schema of the kind may lack the field.
func (p *pass) recordIdentity() error {
	is := p.memory.identity
	if is.ID == "" || p.memory.systemStored || is == p.memory.stored.identity {
		return nil
	}
	return p.setStatus(externalIdentity, tree{"externalName": is.ExternalName, "id": is.ID})
}

// knownIdentity is that of the object's own external resource, as far as this process or the status knows.
func (p *pass) knownIdentity() xpv1.ExternalIdentity {
	if p.memory.identity.ID != "" {
		return p.memory.identity
	}
	return p.memory.stored.identity
}

// isReplaced is true if the observed external resource may be that of others, since it has the name of the one that the object had, but
// neither its identity nor a label, and no person accepts it. A policy to create lost resources again accepts none: what others created may
// hold their data. Of an object of an earlier version the identity is not known. Where a configuration is shared with other namespaces,
// what has no label is refused anyway (N48). A resource of a kind without labels, such as privileges, counts as replaced only during its
// deletion, which leaves it.
func (p *pass) isReplaced() bool {
	o, had, is := p.observation, p.knownIdentity(), p.observedIdentity()
	unlabelled := o.ResourceExists && o.Owner != nil && *o.Owner == "" && p.adoption.Namespace == ""
	another := had.ExternalName == is.ExternalName && had.ID != "" && is.ID != "" && had.ID != is.ID
	lost := unlabelled && p.recreate != nil && p.annotations[meta.AnnotationKeyRestoredAs] != is.ID
	return another && (lost || o.Owner == nil && meta.WasDeleted(p.managed))
}

// replaced ends the pass of such an object, like that of one whose external resource is gone (N38).
func (r *Reconciler) replaced(p *pass) outcome {
	if err := p.showNothing(); err != nil {
		return failed(ReasonCannotObserve, err)
	}
	const team = "the external resource was replaced by another one, which may lack the data: ask your platform team to check that"
	return p.lost("replaced by another one, which may lack its data", team, fmt.Errorf("external resource %q was replaced: it has the id %s instead "+
		"of %s, and no ownership label; if it holds the restored data, set the annotation %s to %q; to use it as it is, set the annotation %s to "+
		"%q (%w)", meta.GetExternalName(p.managed), p.observation.ID, p.knownIdentity().ID, meta.AnnotationKeyRestoredAs, p.observation.ID,
		meta.AnnotationKeyRecreate, p.managed.GetUID(), p.recreate))
}

// forgetIdentity has the status show no identity before another external resource is created: a crash before that has a label must not
// make it a foreign one.
func (r *Reconciler) forgetIdentity(ctx context.Context, p *pass) outcome {
	p.memory.identity = xpv1.ExternalIdentity{}
	if p.memory.stored.identity.ID == "" {
		return flow.Next()
	}
	err := r.storeField(ctx, p, p.managed.GetResourceVersion(), externalIdentity, tree{"externalName": nil, "id": nil})
	return written("storing that another external resource will be created", err)
}
