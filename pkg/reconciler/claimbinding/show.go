// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// showResource lets the claim show what it has: the final external name, whatever it proposed (R266, P3), and the UID of a
// managed resource that it named itself (R273).
func (r *Reconciler) showResource(ctx context.Context, p *pass) outcome {
	name, ref := meta.GetExternalName(p.managed), p.claim.GetResourceReference()
	if (name == "" || name == meta.GetExternalName(p.claim)) && ref.UID == p.managed.GetUID() {
		return next()
	}
	err := r.writeClaim(ctx, p, func(claim resource.Claim) {
		if name != "" {
			meta.SetExternalName(claim, name)
		}
		claim.GetResourceReference().UID = p.managed.GetUID()
	})
	if err != nil {
		return fail(fmt.Errorf("showing the managed resource on the claim: %w", err))
	}
	return next()
}
