// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
)

// publish adds what Observe reported to the connection secret (R206), and what one held that was deleted (N22).
func (r *Reconciler) publish(ctx context.Context, p *pass) outcome {
	details := union(p.memory.unpublished, p.observation.ConnectionDetails)
	if len(details) == 0 && len(p.lost) == 0 {
		return next()
	}
	if err := r.secrets.apply(ctx, p, details, nil); err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("publishing connection details: %w", err))
	}
	p.memory.unpublished = nil
	if len(p.lost) > 0 {
		r.memory.restored(p)
	}
	return next()
}
