// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/places"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyClaims on a class with a limit lists the claims that use it, see package places.
const AnnotationKeyClaims = places.AnnotationKey

func (r *Reconciler) places() places.Places {
	return places.Places{Client: r.client, Live: r.live, Claims: r.claimKind, Classes: r.classKind,
		Managed: func(ctx context.Context, from client.Reader) ([]resource.BindableManaged, error) {
			return r.listManaged(ctx, from, client.UnsafeDisableDeepCopy)
		}}
}

// reserve takes a place for the claim in a class with a limit, before anything is created.
func (r *Reconciler) reserve(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil || p.class.GetClaimLimits().Max == nil {
		return flow.Next()
	}
	full := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		class, isFull, err := r.places().Take(ctx, p.class.GetName(), p.claim.GetUID())
		if class != nil {
			p.class, full = class, isFull
		}
		return err
	})
	switch {
	case places.IsDamaged(err):
		return flow.RejectedAs(xpv1.ReasonLimitReached, err)
	case err == nil && full:
		return flow.AwaitAs(xpv1.ReasonLimitReached, "Class %q allows %d claims, and as many use it or left a managed resource "+
			"that is kept. Wait until one is deleted, use another class, or ask your platform team to raise "+
			"specTemplate.claims.max, or to delete what deleted claims left or clear its spec.claimRef.", p.class.GetName(),
			*p.class.GetClaimLimits().Max)
	}
	return fail("counting the claims that use the class", err)
}

// unreserve gives up the place of a deleted claim in the class that it used.
func (r *Reconciler) unreserve(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetClassReference()
	if !objects.IsOf(ref, r.classKind) {
		return flow.Next()
	}
	return fail("giving up the place in the class", client.IgnoreNotFound(r.places().Leave(ctx, ref.Name, p.claim.GetUID())))
}
