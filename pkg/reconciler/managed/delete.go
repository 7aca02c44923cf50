// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// deleteExternal deletes the external resource and continues once it is proven gone (R53 to R55). One that does not belong to
// the object is left alone (N24).
func (r *Reconciler) deleteExternal(ctx context.Context, p *pass) outcome {
	if !p.observation.ResourceExists {
		return r.awaitAppearance(p) // (R94)
	}
	if !p.owns() {
		return flow.Next()
	}
	p.managed.SetConditions(xpv1.Deleting())
	if o := flow.Run(ctx, p, r.callDelete, r.observe); o.End != flow.Continue {
		return o
	}
	if p.observation.ResourceExists {
		p.managed.SetConditions(xpv1.Deleting())
		return flow.Await(0, "")
	}
	return flow.Next()
}

func (r *Reconciler) callDelete(ctx context.Context, p *pass) outcome {
	external := p.external
	return r.perform(ctx, p, verbDelete, func(ctx context.Context, mg resource.Managed) (ConnectionDetails, error) {
		return nil, external.Delete(ctx, mg)
	})
}

// deleteEnded records the result of Delete.
func (r *Reconciler) deleteEnded(p *pass, op *operation) outcome {
	if op.err != nil {
		return failed(ReasonCannotDelete, callFailed("deleting", op.err))
	}
	p.noteDeletion()
	return flow.Next()
}

// noteDeletion notes that deletion was requested, though the request is repeated until the resource is gone: once per
// process, and not if the object showed it already.
func (p *pass) noteDeletion() {
	shown := p.ready.Reason == xpv1.ReasonDeleting && p.synced.Reason == xpv1.ReasonReconcileSuccess
	if !shown && !p.memory.deleteNoted {
		p.note(event.Normal(ReasonDeleted, "Requested deletion of the external resource "+meta.GetExternalName(p.managed)))
	}
	p.memory.deleteNoted = true
}
