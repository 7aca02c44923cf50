// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// hold keeps the claim from disappearing before its managed resource was deleted or released. It is written before anything is
// made or bound.
func (r *Reconciler) hold(ctx context.Context, p *pass) outcome {
	if meta.FinalizerExists(p.claim, Finalizer) {
		return next()
	}
	if err := r.writeClaim(ctx, p, func(claim resource.Claim) { meta.AddFinalizer(claim, Finalizer) }); err != nil {
		return fail(fmt.Errorf("adding the finalizer: %w", err))
	}
	return next()
}
