// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
)

// publish adds what Observe reported to the connection secret (R206), and what one held that was deleted, or that the object
// named before (N22).
func (r *Reconciler) publish(ctx context.Context, p *pass) outcome {
	details := union(p.memory.unpublished, p.observation.ConnectionDetails)
	if len(details) == 0 && len(r.memory.kept(p.memory)) == 0 && !moved(p.managed) {
		return next()
	}
	if err := r.secrets.apply(ctx, p, details, nil); err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("publishing connection details: %w", err))
	}
	p.memory.unpublished = nil
	r.memory.restored(p)
	return next()
}
