// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// refer lets the claim name what was made for it (R267). From then on it cannot get anything else.
func (r *Reconciler) refer(ctx context.Context, p *pass) outcome {
	if p.claim.GetResourceReference() != nil {
		return next()
	}
	ref := reference(p.managed, r.managedKind)
	if err := r.writeClaim(ctx, p, func(claim resource.Claim) { claim.SetResourceReference(ref) }); err != nil {
		return fail(fmt.Errorf("recording the managed resource on the claim: %w", err))
	}
	return next()
}
