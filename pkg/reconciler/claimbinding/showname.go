// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// showName lets the claim show the final external name, whatever it proposed (R266, P3).
func (r *Reconciler) showName(ctx context.Context, p *pass) outcome {
	name := meta.GetExternalName(p.managed)
	if name == "" || name == meta.GetExternalName(p.claim) {
		return next()
	}
	if err := r.writeClaim(ctx, p, func(claim resource.Claim) { meta.SetExternalName(claim, name) }); err != nil {
		return fail(fmt.Errorf("showing the external name on the claim: %w", err))
	}
	return next()
}
