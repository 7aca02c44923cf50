// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// awaitBindable waits until the managed resource can be used (R269). One that was bound or released before could be used then,
// and belongs to nobody else, or find would have refused it.
func (r *Reconciler) awaitBindable(_ context.Context, p *pass) outcome {
	switch p.managed.GetBindingPhase() {
	case xpv1.BindingPhaseUnbound, xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased:
		return next()
	}
	return await(xpv1.ReasonBinding, r.cause(p.managed))
}

// bind lets the managed resource name the claim, and say so (R273), unless the claim named one that is not what it asks for. The
// first write decides between two claims that want the same one: it is refused if anybody wrote since it was read (R274).
func (r *Reconciler) bind(ctx context.Context, p *pass) outcome {
	if !r.belongs(p.managed, p.claim) {
		for _, c := range r.configurators {
			if checker, ok := c.(ManagedChecker); ok {
				if err := checker.CheckManaged(ctx, p.claim, p.managed); err != nil {
					return refuse(xpv1.ReasonBinding, err)
				}
			}
		}
		if err := r.stopPropagation(ctx, p.managed); err != nil { // to whoever had it before
			return fail(err)
		}
		mg, err := write(ctx, r, p.managed, func(mg resource.BindableManaged) { mg.SetClaimReference(r.claimReference(p.claim)) })
		if err != nil {
			return fail(fmt.Errorf("recording the claim on the managed resource: %w", err))
		}
		p.managed = mg
	}
	if p.managed.GetBindingPhase() != xpv1.BindingPhaseBound {
		if err := r.writePhase(ctx, p, xpv1.BindingPhaseBound); err != nil {
			return fail(fmt.Errorf("marking the managed resource as bound: %w", err))
		}
		p.note(ReasonBound, fmt.Sprintf("Bound to managed resource %s %q.", r.managedKind.Kind, p.managed.GetName()))
	}
	p.bound = true
	return next()
}

// writePhase records how far the managed resource is bound.
func (r *Reconciler) writePhase(ctx context.Context, p *pass, phase xpv1.BindingPhase) error {
	mg := p.managed.DeepCopyObject().(resource.BindableManaged)
	mg.SetBindingPhase(phase)
	patch := client.MergeFromWithOptions(p.managed, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, mg, patch); err != nil {
		return err
	}
	p.managed = mg
	return nil
}
