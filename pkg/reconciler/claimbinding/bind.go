// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// bind records the claim on the managed resource (R273), unless the claim named one that is not what it asks for. The first write
// decides between two claims that want the same one: it is guarded by the resource version (R274).
func (r *Reconciler) bind(ctx context.Context, p *pass) flow.Outcome {
	if !r.belongs(p.managed, p.claim) {
		for _, c := range r.configurators {
			if checker, ok := c.(ManagedChecker); ok {
				if err := checker.CheckManaged(ctx, p.claim, p.managed); err != nil {
					return refuse(xpv1.ReasonBinding, err)
				}
			}
		}
		if err := r.copies.Revoke(ctx, p.managed, ""); err != nil { // of former claims
			return fail("revoking consent to earlier copies of the connection Secret", err)
		}
		mg, err := objects.Patch(ctx, r.client, p.managed, func(mg resource.BindableManaged) { mg.SetClaimReference(r.claimReference(p.claim)) })
		if err != nil {
			return fail("recording the claim on the managed resource", err)
		}
		p.managed = mg
	}
	if p.managed.GetBindingPhase() != xpv1.BindingPhaseBound {
		if err := r.writePhase(ctx, p, xpv1.BindingPhaseBound); err != nil {
			return fail("marking the managed resource as bound", err)
		}
		p.Note(ReasonBound, fmt.Sprintf("Bound to managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
	}
	p.bound = true
	return flow.Next()
}

// writePhase records the binding phase of the managed resource.
func (r *Reconciler) writePhase(ctx context.Context, p *pass, phase xpv1.BindingPhase) error {
	mg, err := objects.PatchStatus(ctx, r.client, p.managed, func(mg resource.BindableManaged) { mg.SetBindingPhase(phase) })
	if err == nil {
		p.managed = mg
	}
	return err
}
