// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// update changes the external resource if it is not as declared (R24, R40).
func (r *Reconciler) update(ctx context.Context, p *pass) outcome {
	if p.observation.ResourceUpToDate {
		p.memory.updates = 0
		return next()
	}
	if !p.allows(xpv1.ManagementActionUpdate) {
		return next()
	}
	if o := r.storeSpec(ctx, p); o.end != goOn {
		return o
	}
	p.memory.updates++
	update, err := p.external.Update(ctx, p.managed)
	if err != nil {
		return fail(ReasonCannotUpdate, fmt.Errorf("updating the external resource: %w", err))
	}
	if !p.drifted() {
		p.note(event.Normal(ReasonUpdated, "Updated the external resource "+meta.GetExternalName(p.managed)))
	}
	if o := r.observe(ctx, p); o.end != goOn {
		return o
	}
	p.observation.ConnectionDetails = union(p.observation.ConnectionDetails, update.ConnectionDetails)
	return next()
}

// union returns the details of both; where both have a key, over wins.
func union(details, over ConnectionDetails) ConnectionDetails {
	all := make(ConnectionDetails, len(details)+len(over))
	maps.Copy(all, details)
	maps.Copy(all, over)
	return all
}
