// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/places"
)

// AnnotationKeyClaims on a class with a limit lists the claims that use it: a JSON object with their UIDs as keys and their kinds,
// "<kind>.<group>", as values.
const AnnotationKeyClaims = places.AnnotationKeyClaims

// reserve takes a place for the claim in a class with a limit, before anything is created.
func (r *Reconciler) reserve(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil || p.class.GetClaimLimits().Max == nil {
		return flow.Next()
	}
	most, full, err := r.places.Reserve(ctx, p.class.GetName(), p.claim.GetUID())
	switch {
	case failure.Of(err).Reason == xpv1.ReasonLimitReached:
		return refuse(xpv1.ReasonLimitReached, err)
	case err != nil:
		return fail("counting the claims that use the class", err)
	case full:
		return await(xpv1.ReasonLimitReached, fmt.Sprintf("Class %q allows %d claims, and as many use it or left a managed resource that is "+
			"kept. Wait until one is deleted, use another class, or ask your platform team to raise specTemplate.claims.max, or to delete "+
			"what deleted claims left or clear its spec.claimRef.", p.class.GetName(), most))
	}
	return flow.Next()
}

// unreserve gives up the place of a deleted claim in the class that it used.
func (r *Reconciler) unreserve(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetClassReference()
	if !objects.IsOf(ref, r.classKind) {
		return flow.Next()
	}
	if err := r.places.GiveUp(ctx, ref.Name, p.claim.GetUID()); err != nil {
		return fail("giving up the place in the class", err)
	}
	return flow.Next()
}
