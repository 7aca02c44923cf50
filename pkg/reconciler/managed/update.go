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

// update stores what the external system chose, and updates the external resource if it is not as declared (R24, R40), or if
// a Secret that it was created with changed.
func (r *Reconciler) update(ctx context.Context, p *pass) outcome {
	if o := r.lateInitialize(ctx, p); o.End != flow.Continue {
		return o
	}
	if p.observation.ResourceUpToDate && !p.inputs.rotated || !p.allows(xpv1.ManagementActionUpdate) {
		return flow.Next()
	}
	return flow.Run(ctx, p, r.storeSpec, r.giveInputs, r.giveDetails, r.callUpdate, r.observe, r.publish)
}

func (r *Reconciler) callUpdate(ctx context.Context, p *pass) outcome {
	external := p.external
	return r.perform(ctx, p, verbUpdate, func(ctx context.Context, mg resource.Managed) (ConnectionDetails, error) {
		update, err := external.Update(ctx, mg)
		return update.ConnectionDetails, err
	})
}

// updateEnded records the result of Update. Updates that leave a difference are reported once per change of the spec.
func (r *Reconciler) updateEnded(ctx context.Context, p *pass, op *operation) outcome {
	if op.err != nil {
		return failed(ReasonCannotUpdate, callFailed("updating", op.err))
	}
	p.memory.updates++
	p.memory.unpublished = union(p.memory.unpublished, op.details)
	if len(p.memory.unpublished) > 0 {
		if o := r.publish(ctx, p); o.End != flow.Continue {
			return o
		}
	}
	p.inputsApplied(op.inputs)
	if !p.drifted() || p.inSync().ObservedGeneration != p.managed.GetGeneration() {
		p.note(event.Normal(ReasonUpdated, "Updated the external resource "+meta.GetExternalName(p.managed)))
	}
	return flow.Next()
}
