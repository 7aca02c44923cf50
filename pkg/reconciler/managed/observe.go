// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A sighting is what the last observation of a pass found.
type sighting struct {
	observed    bool
	observation ExternalObservation

	// chosen are the parameters as Observe completed them with what the external system chose.
	chosen tree
}

// observe observes the external resource (R21, R26): once per pass, and once more after the pass changed it, so that one pass
// reports the whole story.
func (r *Reconciler) observe(ctx context.Context, p *pass) outcome {
	if err := p.observeExternal(ctx); err != nil {
		return failed(ReasonCannotObserve, callFailed("observing", err))
	}
	r.redactDrift(ctx, p)
	return flow.Next()
}

// observeExternal observes the external resource and remembers that it was seen. One without a name does not exist yet, as
// far as can be known (R69).
func (p *pass) observeExternal(ctx context.Context) error {
	if meta.GetExternalName(p.managed) == "" {
		p.observation, p.observed = ExternalObservation{}, true
		return nil
	}
	o, err := p.external.Observe(ctx, p.managed)
	if err != nil {
		return err
	}
	p.observation, p.observed = o, true
	if o.ResourceExists {
		p.memory.seen = true
	}
	if o.ResourceLateInitialized {
		return p.takeChosen()
	}
	return nil
}

// forgetObservation restores the object as it was before the external system was asked.
func (p *pass) forgetObservation() error {
	p.observed = false
	return p.rebuild(func(u tree) {
		put(u, "spec", p.spec)
		put(u, "status", p.status)
	})
}
