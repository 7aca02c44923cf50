// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
)

// observe looks at the external resource (R21, R26): once per pass, and once more after the pass changed it, so that one
// pass tells the whole story.
func (r *Reconciler) observe(ctx context.Context, p *pass) outcome {
	if err := p.look(ctx); err != nil {
		return fail(ReasonCannotObserve, callFailed("observing", err))
	}
	r.redactDrift(ctx, p)
	return next()
}

// checkFailure ends the pass with what the external system reports to be wrong with the resource.
func (r *Reconciler) checkFailure(_ context.Context, p *pass) outcome {
	if p.observation.Failed != nil {
		return fail(ReasonExternalFailed, p.failure())
	}
	return next()
}

func (p *pass) failure() error {
	return fmt.Errorf("the external resource is not as it should be: %w", p.observation.Failed)
}
