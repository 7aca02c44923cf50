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
)

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next
// pass. A pass writes status at most once, and not at all if nothing changed (N14).
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	stopping := errors.Is(ctx.Err(), context.Canceled) && errors.Is(o.err, context.Canceled)
	ctx, cancel := detach(ctx)
	defer cancel()
	quiet := r.countFailures(p, o)
	if o.end.bad() && (!quiet || p.span.IsRecording()) {
		o.err = r.redact(ctx, p, o.err)
	}
	if !stopping {
		r.measureEnd(ctx, p, o)
	}
	switch {
	case stopping || o.end == conflict: // the process ends in the middle of a call, or the watch brings us back
		r.record(ctx, p, p.happened)
		return r.restAfter(p, o, p.poll, true)
	case o.end == gone:
		r.record(ctx, p, p.happened)
		return r.restAfter(p, o, 0, false)
	case quiet:
		r.record(ctx, p, p.happened)
		return r.restAfter(p, o, r.delay(p, o), p.overtaken)
	}
	e, news := o.event(p)
	if news {
		p.note(e)
	}
	r.logOutcome(ctx, p, o, news)
	if err := r.redactConditions(ctx, p); err != nil {
		return reconcile.Result{}, err
	}
	p.setConditions(o.synced())
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
		r.measureBirth(p)
	}
	return r.restAfter(p, o, r.delay(p, o), overtaken || p.overtaken)
}

// throttlePatience is how long users are not told that the external system asks for fewer calls, while there is work to do.
const throttlePatience = 10 * time.Second

// countFailures remembers how the object fares, and reports whether the outcome is nothing to speak of: a system that
// asked for fewer calls a moment ago will soon be asked again.
func (r *Reconciler) countFailures(p *pass, o outcome) (quiet bool) {
	if o.end != failed {
		p.memory.failures = 0
	} else {
		p.memory.failures++
	}
	if o.end != throttled {
		p.memory.throttled = time.Time{}
		return false
	}
	if p.memory.throttled.IsZero() {
		p.memory.throttled = r.now()
	}
	patience := throttlePatience
	if finished(p.managed) { // a look that comes late is no news
		patience = max(patience, p.poll)
	}
	return r.now().Sub(p.memory.throttled) < patience
}

// synced is what an outcome says about the pass in condition Synced (R184 to R186).
func (o outcome) synced() xpv1.Condition {
	switch o.end {
	case failed, throttled, rejected, stopped:
		return xpv1.ReconcileError(o.err)
	case paused:
		return xpv1.ReconcilePaused().WithMessage(o.message)
	default:
		return xpv1.ReconcileSuccess().WithMessage(o.message)
	}
}

// event is what an outcome says to people who watch events. It is news only if the object did not say so already.
func (o outcome) event(p *pass) (e event.Event, news bool) {
	news = !p.says(o) && !p.says(o.beside(p.memory.unfit))
	switch o.end {
	case failed, throttled, rejected, stopped:
		return event.Warning(o.reason, o.err), news
	case paused:
		return event.Normal(ReasonPaused, o.message), news
	default:
		return event.Event{}, false
	}
}

// says is true if the object told of the outcome before this pass.
func (p *pass) says(o outcome) bool {
	return o.synced().WithObservedGeneration(p.synced.ObservedGeneration).Equal(p.synced)
}

// delay is when to come back after an outcome; zero for not by time.
func (r *Reconciler) delay(p *pass, o outcome) time.Duration {
	switch o.end {
	case paused, stopped:
		return 0
	case waiting:
		if o.after > 0 {
			return min(o.after, r.pollAfter(p))
		}
		return r.pollAfter(p)
	case rejected:
		if o.after > 0 {
			return o.after
		}
		return spread(p.poll, p.managed.GetUID())
	case throttled:
		o.after = max(o.after, shortestPoll)
		return o.after + time.Duration(r.random()*float64(o.after)/2) // so that those turned away together do not come back together
	case failed:
		return r.backoff.after(p.memory.failures, r.random())
	default:
		return r.pollAfter(p)
	}
}

// setConditions stamps the conditions that this pass set with the generation that it saw.
func (p *pass) setConditions(synced xpv1.Condition) {
	p.setCondition(synced, p.synced)
	ready := p.managed.GetCondition(xpv1.TypeReady)
	if ready.Reason == "" || !p.observed && ready.Equal(p.ready) {
		return
	}
	p.setCondition(ready, p.ready)
}

// setCondition sets one that was another before the pass.
func (p *pass) setCondition(c, before xpv1.Condition) {
	c.ObservedGeneration = p.managed.GetGeneration()
	if c.WithObservedGeneration(before.ObservedGeneration).Equal(before) {
		// It went back and forth within the pass, say from Available to Deleting; in the end nothing changed (R195).
		c.LastTransitionTime = before.LastTransitionTime
		p.managed.SetConditions(xpv1.Condition{Type: c.Type})
	}
	p.managed.SetConditions(c)
}

// record emits events. One that cannot be recorded, for example because its namespace is going away, must not keep
// the object from being looked after (N32).
func (r *Reconciler) record(ctx context.Context, p *pass, events []event.Event) {
	for _, e := range events {
		r.logEvent(ctx, p, e)
		if err := r.recorder.Event(ctx, p.managed, e); err != nil {
			r.logOf(ctx, p.managed).Info("Cannot record event", "reason", e.Reason, "error", err.Error())
		}
	}
}

// restAfter remembers the end of the pass and asks for the next one.
func (r *Reconciler) restAfter(p *pass, o outcome, after time.Duration, overtaken bool) (reconcile.Result, error) {
	now, due := r.now(), time.Time{}
	if after > 0 {
		due = now.Add(after)
	}
	p.memory.settled = (o.end == goOn || o.end == throttled) && finished(p.managed)
	p.gone = o.end == gone
	r.memory.ended(p, now, due, overtaken)
	return p.memory.comeBack(after), nil
}
