// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
)

// settle is the only place that turns an outcome into conditions, events, a status write and a requeue; the table is that of
// package flow. A pass writes status at most once, and not at all if nothing changed (N14).
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	stopping := errors.Is(ctx.Err(), context.Canceled) && errors.Is(o.Err, context.Canceled)
	ctx, cancel := detach(ctx)
	defer cancel()
	quiet := r.countFailures(p, o)
	if o.End.Bad() && (!quiet || isTraced(ctx)) {
		o = r.redactOutcome(ctx, p, o)
	}
	if !stopping {
		r.measureEnd(ctx, p, o)
	}
	switch {
	case stopping || o.End == flow.Conflict: // the process ends in the middle of a call, or the watch brings the object back
		r.record(ctx, p, p.happened)
		return r.requeue(p, o, p.poll, true)
	case o.End == flow.Gone:
		r.record(ctx, p, p.happened)
		return r.requeue(p, o, 0, false)
	case quiet:
		r.record(ctx, p, p.happened)
		return r.requeue(p, o, r.delay(p, o), p.overtaken)
	}
	e, news := p.event(o)
	if news {
		p.note(e)
	}
	r.logOutcome(ctx, p, o, news)
	if err := r.redactConditions(ctx, p); err != nil {
		return reconcile.Result{}, err
	}
	p.setConditions(o)
	r.record(ctx, p, p.happened)
	overtaken, err := r.writeStatus(ctx, p)
	if unfit := unfitFields(err); len(unfit) > 0 {
		o, overtaken, err = r.writeFitting(ctx, p, o, unfit)
	} else if err == nil {
		p.memory.unfit = nil
	}
	if err != nil {
		return reconcile.Result{}, r.redact(ctx, p, fmt.Errorf("writing status: %w", err))
	}
	if !overtaken {
		r.measureFirstReady(p)
	}
	return r.requeue(p, o, r.delay(p, o), overtaken || p.overtaken)
}

// redactOutcome keeps secrets out of an error and of what application teams read of it.
func (r *Reconciler) redactOutcome(ctx context.Context, p *pass, o outcome) outcome {
	secrets, class := r.secretsOfPass(ctx, p), failure.Of(o.Err)
	o.Err = redact.Error(o.Err, secrets...)
	if safe := redact.Text(class.Message, secrets); safe != class.Message {
		o.Err = failure.ForTeam(class.Reason, safe, o.Err)
	}
	return o
}

// throttlePatience is for how long it is not reported that the external system asks for fewer calls, while there is work to
// do.
const throttlePatience = 10 * time.Second

// countFailures remembers failures in a row, and reports whether the outcome is not worth reporting: a system that asked for
// fewer calls a moment ago will soon be asked again.
func (r *Reconciler) countFailures(p *pass, o outcome) (quiet bool) {
	if o.End != flow.Fail {
		p.memory.failures = 0
	} else {
		p.memory.failures++
	}
	if o.End != flow.Throttle {
		p.memory.throttled = time.Time{}
		return false
	}
	if p.memory.throttled.IsZero() {
		p.memory.throttled = r.now()
	}
	patience := throttlePatience
	if isSettled(p.managed) { // do not report a delayed poll
		patience = max(patience, p.poll)
	}
	return r.now().Sub(p.memory.throttled) < patience
}

// event is the event of an outcome. It is news only if the object did not report the same before.
func (p *pass) event(o outcome) (e event.Event, news bool) {
	e, speaks := o.Event()
	return e, speaks && !p.reported(o) && !p.reported(beside(o, p.memory.unfit))
}

// reported is true if the object reported the outcome before this pass.
func (p *pass) reported(o outcome) bool { return flow.Same(o.Synced(), p.synced) }

// setConditions sets the conditions of the outcome, and stamps Ready with the generation that this pass observed.
func (p *pass) setConditions(o outcome) {
	flow.Set(p.managed, o.Synced(), p.synced)
	flow.SetState(p.managed, o.State(), p.states)
	if ready := p.managed.GetCondition(xpv1.TypeReady); ready.Reason != "" && (p.observed || !ready.Equal(p.ready)) {
		flow.Set(p.managed, ready, p.ready)
	}
}

// record emits events.
func (r *Reconciler) record(ctx context.Context, p *pass, events []event.Event) {
	for _, e := range events {
		r.logEvent(ctx, p, e)
	}
	flow.Emit(ctx, r.recorder, r.log, p.managed, events...)
}

// requeue remembers the end of the pass and asks for the next one.
func (r *Reconciler) requeue(p *pass, o outcome, after time.Duration, overtaken bool) (reconcile.Result, error) {
	now, due := r.now(), time.Time{}
	if after > 0 {
		due = now.Add(after)
	}
	p.memory.settled = (o.End == flow.Continue || o.End == flow.Throttle) && isSettled(p.managed)
	r.memory.ended(p, now, due, overtaken, o.End == flow.Gone)
	return p.memory.requeueAfter(after), nil
}
