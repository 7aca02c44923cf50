// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A sighting is what the last observation of a pass found.
type sighting struct {
	observed    bool
	observation ExternalObservation
	// leftWithheld is true if Observe left Ready as it was, with one of the reasons of withhold.
	leftWithheld bool
	// chosen are the parameters as Observe completed them with what the external system chose.
	chosen tree
}

// observe observes the external resource once per pass, and once more after the pass changed it, so that one pass reports the whole
// story (R21, R26). One without a name does not exist yet, as far as can be known (R69).
func (r *Reconciler) observe(ctx context.Context, p *pass) outcome {
	o := ExternalObservation{System: connectedSystem(p.external)}
	if meta.GetExternalName(p.managed) != "" {
		if given := r.giveDetails(ctx, p); given.End != flow.Continue {
			return given
		}
		var err error
		ready := p.markWithheld()
		o, err = read(ctx, r, verbObserve, p, p.external.Observe)
		p.checkWithheld(ready)
		if err == nil && o.ResourceLateInitialized {
			err = p.takeChosen()
		}
		if err != nil {
			return failed(ReasonCannotObserve, callFailed("observing", err))
		}
	}
	p.observation, p.observed = o, true
	isOwn := o.ResourceExists && p.owns() && !p.isInRelatedSystem()
	if isOwn {
		p.memory.seen = true
		p.noteSystem()
		p.noteIdentity()
	}
	if o.ResourceExists && p.managed.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonCannotObserve { // Observe left it as it was
		p.managed.SetConditions(xpv1.Available())
	}
	if isOwn && o.Failed != nil && failure.Of(classified(ReasonExternalFailed, o.Failed)).Reason == failure.ExternalResourceFailed {
		p.withhold(failure.ExternalResourceFailed, "The external system reports that something is wrong with the external resource.")
	}
	r.redactDrift(ctx, p)
	return flow.Next()
}
