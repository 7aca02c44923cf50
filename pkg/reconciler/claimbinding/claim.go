// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// addFinalizer keeps the claim from disappearing before its managed resource is deleted or released. It is written before anything
// is created or bound.
func (r *Reconciler) addFinalizer(ctx context.Context, p *pass) flow.Outcome {
	if meta.FinalizerExists(p.claim, Finalizer) {
		return flow.Next()
	}
	if err := r.patchClaim(ctx, p, func(claim resource.Claim) { meta.AddFinalizer(claim, Finalizer) }); err != nil {
		return fail("adding the finalizer", err)
	}
	return flow.Next()
}

// recordResource has the claim name what was created for it (R267), and the class that this came from: another may have been
// recorded meanwhile. From then on the claim cannot get anything else.
func (r *Reconciler) recordResource(ctx context.Context, p *pass) flow.Outcome {
	if p.claim.GetResourceReference() != nil {
		return flow.Next()
	}
	ref, class := reference(p.managed, r.managedKind), p.managed.GetClassReference()
	err := r.patchClaim(ctx, p, func(claim resource.Claim) {
		claim.SetResourceReference(ref)
		if chosen := claim.GetClassReference(); objects.IsOf(class, r.classKind) && (chosen == nil || chosen.Name != class.Name) {
			claim.SetClassReference(class)
		}
	})
	if err != nil {
		return fail("recording the managed resource on the claim", err)
	}
	return flow.Next()
}

// showResource has the claim show the final external name, whatever it proposed (R266, P3), and the UID of a managed resource that
// it named itself (R273).
func (r *Reconciler) showResource(ctx context.Context, p *pass) flow.Outcome {
	name, ref := meta.GetExternalName(p.managed), p.claim.GetResourceReference()
	if (name == "" || name == meta.GetExternalName(p.claim)) && ref.UID == p.managed.GetUID() {
		return flow.Next()
	}
	err := r.patchClaim(ctx, p, func(claim resource.Claim) {
		if name != "" {
			meta.SetExternalName(claim, name)
		}
		claim.GetResourceReference().UID = p.managed.GetUID()
	})
	if err != nil {
		return fail("showing the managed resource on the claim", err)
	}
	return flow.Next()
}
