// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// refer lets the claim name what was made for it (R267), and the class that it was made from: another may have been written down
// meanwhile. From then on it cannot get anything else.
func (r *Reconciler) refer(ctx context.Context, p *pass) outcome {
	if p.claim.GetResourceReference() != nil {
		return next()
	}
	ref, class := reference(p.managed, r.managedKind), p.managed.GetClassReference()
	err := r.writeClaim(ctx, p, func(claim resource.Claim) {
		claim.SetResourceReference(ref)
		if chosen := claim.GetClassReference(); isOf(class, r.classKind) && (chosen == nil || chosen.Name != class.Name) {
			claim.SetClassReference(class)
		}
	})
	if err != nil {
		return fail(fmt.Errorf("recording the managed resource on the claim: %w", err))
	}
	return next()
}
