// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write,
// since the cache may be behind.
type pass struct {
	claim   resource.Claim
	class   resource.Class           // nil for a claim that has its managed resource
	planned resource.BindableManaged // to be created
	managed resource.BindableManaged
	bound   bool // claim and managed resource, on both sides
	flow.TeamReport
}

type step = flow.Step[*pass]

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	if o.End != flow.Wait && o.End != flow.Reject {
		r.waiters.Forget(client.ObjectKeyFromObject(p.claim))
	}
	p.MistakeReason = ReasonBadConnectionKeys
	p.SetStatus = func() { p.claim.SetBindingPhase(p.phase(o)) }
	s := flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: r.poll, Pending: xpv1.ReasonBinding}
	return s.Settle(ctx, p.claim, p.TeamReport, o)
}

// phase is the binding phase of the claim. A failure does not change it.
func (p *pass) phase(o flow.Outcome) xpv1.BindingPhase {
	switch {
	case p.bound:
		return xpv1.BindingPhaseBound
	case o.End == flow.Fail && p.claim.GetBindingPhase() != "":
		return p.claim.GetBindingPhase()
	default:
		return xpv1.BindingPhaseUnbound
	}
}

// await ends a pass over a claim that waits.
func await(reason xpv1.ConditionReason, message string) flow.Outcome {
	return flow.AwaitAs(reason, message)
}

// refuse ends a pass until a person changes something.
func refuse(reason xpv1.ConditionReason, err error) flow.Outcome {
	return flow.RejectedAs(reason, err)
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotBind, err)
}

// patchClaim stores a change of the claim.
func (r *Reconciler) patchClaim(ctx context.Context, p *pass, change func(resource.Claim)) error {
	claim, err := objects.Patch(ctx, r.client, p.claim, change)
	if err == nil {
		p.claim = claim
	}
	return err
}
