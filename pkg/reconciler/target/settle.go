// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write,
// since the cache may be behind.
type pass struct {
	target  resource.Target
	managed resource.BindableManaged
	flow.TeamReport
}

type step = flow.Step[*pass]

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	p.MistakeReason = ReasonDetailsLost
	s := flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: r.poll, Pending: xpv1.ReasonConnecting}
	result, err := s.Settle(ctx, p.target, p.TeamReport, o)
	if o.End == flow.Continue && result.IsZero() && !r.watches.Begun() {
		result.RequeueAfter = r.poll
	}
	return result, err
}

// refuse ends a pass until something changes.
func refuse(reason xpv1.ConditionReason, err error) flow.Outcome {
	return flow.RejectedAs(reason, err)
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotConnect, err)
}
