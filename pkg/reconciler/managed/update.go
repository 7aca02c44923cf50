// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"maps"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// update changes the external resource if it is not as declared (R24, R40), if a Secret that it was made with changed, or if
// credentials were lost.
func (r *Reconciler) update(ctx context.Context, p *pass) outcome {
	if p.observation.ResourceUpToDate && !p.rotated && len(p.renewed) == 0 {
		return next()
	}
	if !p.allows(xpv1.ManagementActionUpdate) {
		return next()
	}
	if o := run(ctx, p, []step{r.storeSpec, r.giveInputs, r.giveDetails}); o.end != goOn {
		return o
	}
	external, renewed := p.external, p.renewed
	o := r.perform(ctx, p, verbUpdate, func(ctx context.Context, mg resource.Managed) (ConnectionDetails, error) {
		update, err := external.Update(ctx, mg)
		return union(renewed, update.ConnectionDetails), err
	})
	if o.end != goOn {
		return o
	}
	return r.observe(ctx, p)
}

// updateEnded notes the result of Update. One that never settles the difference is news once for each change of the spec.
func (r *Reconciler) updateEnded(ctx context.Context, p *pass, op *operation) outcome {
	if op.err != nil {
		return fail(ReasonCannotUpdate, callFailed("updating", op.err))
	}
	p.memory.updates++
	p.memory.unpublished = union(p.memory.unpublished, op.details)
	if len(p.memory.unpublished) > 0 {
		if o := r.publish(ctx, p); o.end != goOn {
			return o
		}
	}
	p.inputsApplied(op.inputs)
	if !p.drifted() || p.inSync().ObservedGeneration != p.managed.GetGeneration() {
		p.note(event.Normal(ReasonUpdated, "Updated the external resource "+meta.GetExternalName(p.managed)))
	}
	return next()
}

// union returns the details of both; where both have a key, over wins.
func union(details, over ConnectionDetails) ConnectionDetails {
	all := make(ConnectionDetails, len(details)+len(over))
	maps.Copy(all, details)
	maps.Copy(all, over)
	return all
}
