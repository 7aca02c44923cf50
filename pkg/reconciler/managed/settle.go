// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// settle is the only place that turns an outcome into conditions, events, a status write and a requeue; the table is that of
// package flow. A pass writes status at most once, and not at all if nothing changed (N14).
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	r.noteUse(ctx, p)
	p.setNoted()
	if p.reappeared() { // the pass ended before it reported that
		p.reportDrift()
		p.setNoted()
	}
	stopping := errors.Is(ctx.Err(), context.Canceled) && errors.Is(o.Err, context.Canceled)
	ctx, cancel := detach(ctx)
	defer cancel()
	o = p.reportIgnored(p.suggestOrphan(o))
	quiet := r.countFailures(p, o)
	if o.End.Bad() && (!quiet || trace.SpanFromContext(ctx).IsRecording()) {
		o = r.redactOutcome(ctx, p, o)
	}
	if !stopping {
		r.measureEnd(ctx, p, o)
	}
	switch {
	case stopping || o.End == flow.Conflict: // the process ends in the middle of a call, or the watch brings the object back
		r.record(ctx, p, p.events)
		return r.requeue(p, o, p.poll, true)
	case o.End == flow.Gone:
		r.record(ctx, p, p.events)
		return r.requeue(p, o, 0, false)
	case quiet:
		r.record(ctx, p, p.events)
		return r.requeue(p, o, r.delay(p, o), p.overtaken)
	}
	e, news := p.event(o)
	if news && !o.End.Bad() {
		p.note(e)
	}
	r.logOutcome(ctx, p, o, news)
	r.setConditions(p, o)
	failing := o.End.Bad()
	o, overtaken, err := r.store(ctx, p, o)
	r.record(ctx, p, p.events) // after the status, which people and programs wait for (N84)
	if news && failing {
		flow.Record(ctx, r.recorder, r.log, p.managed, e)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return r.requeue(p, o, r.delay(p, o), overtaken || p.overtaken)
}

// store writes the status, and remembers what it has from then on. The outcome is another one if the API server refuses the status.
func (r *Reconciler) store(ctx context.Context, p *pass, o outcome) (_ outcome, overtaken bool, err error) {
	mg, unchanged := p.managed, p.isUnchanged()
	rotated, err := p.recordRotation()
	if err := errors.Join(err, p.handleRequest(o), r.recordOwnership(p, o, unchanged), p.recordSystem(), p.recordIdentity()); err != nil {
		return o, false, err
	}
	if !unchanged || p.managed != mg { // each of these replaces the object that it changes
		overtaken, err = r.writeStatus(ctx, p)
	}
	if unfit := whyUnfit(p.managed, err); unfit != nil {
		o, overtaken, err = r.writeFitting(ctx, p, o, unfit)
	} else if err == nil {
		p.memory.unfit = nil
	}
	if err != nil {
		return o, false, r.redact(ctx, p, fmt.Errorf("writing status: %w", err))
	}
	if overtaken {
		return o, true, nil
	}
	if rotated.After(p.memory.recorded) {
		r.instruments.kind.Rotated(true)
	}
	p.memory.recorded, p.memory.systemStored = rotated, true
	if o.End != flow.Pause {
		p.memory.handled = p.annotations[meta.AnnotationKeyReconcileRequestedAt]
	}
	if p.memory.awaitsReady && p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
		p.memory.awaitsReady = false
		r.instruments.kind.Ready(r.now().Sub(p.managed.GetCreationTimestamp().Time))
	}
	return o, false, nil
}

// suggestOrphan adds to the error of a deletion how to delete the object when the external system is gone for good (N31).
func (p *pass) suggestOrphan(o outcome) outcome {
	reason := failure.Of(o.Err).Reason
	if meta.WasDeleted(p.managed) && (failure.IsOutOfReach(reason) || reason == failure.ExternalSystemChanged) {
		o.Err = fmt.Errorf("%w; to delete only the object, set the annotation %s: \"true\"", o.Err, meta.AnnotationKeyOrphanOnDelete)
	}
	return o
}

// reportIgnored adds to condition Synced which annotations and settings have no effect, and an event when that changes (R97, N59).
func (p *pass) reportIgnored(o outcome) outcome {
	ignored := strings.TrimSpace(strings.Join(append(meta.IgnoredAnnotations(p.managed), p.ignoredOverlap()), " "))
	if ignored == "" || o.Synced().Reason != xpv1.ReasonReconcileSuccess {
		return o
	}
	o.Message = strings.TrimSpace(o.Message + " " + ignored)
	if !p.reported(o) {
		p.note(event.Warning(ReasonIgnored, errors.New(ignored)))
	}
	return o
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

const (
	// throttlePatience is how long it is not reported that calls are throttled, where that is more than a delayed poll.
	throttlePatience = 10 * time.Second
	// outagePatience is how long it is not reported that they are paused: the restart of a server takes a moment.
	outagePatience = 3 * time.Second
	// throttledTime is for how long an object whose calls are throttled is taken to be as it was last observed: this and this many polls.
	throttledTime, throttledPolls = 10 * time.Minute, 10
)

// countFailures remembers failures in a row, and is true for an outcome that is not reported: calls that are
// throttled, or paused (circuit open), since a moment ago.
func (r *Reconciler) countFailures(p *pass, o outcome) (quiet bool) {
	switch {
	case o.End == flow.Fail:
		p.memory.failures++
	case !p.isRetrying(o):
		p.memory.failures = 0
	}
	if o.End != flow.Throttle {
		p.memory.throttled = time.Time{}
		return false
	}
	if p.memory.throttled.IsZero() {
		p.memory.throttled = r.now()
	}
	patience := throttlePatience
	switch reason := failure.Of(o.Err).Reason; {
	case reason == failure.ExternalSystemRefused, failure.IsLeak(reason): // which does not pass by itself, or not soon
		return false
	case failure.IsSystemOutOfReach(reason) && p.synced.Reason == "" || meta.WasDeleted(p.managed) && p.ready.Reason != xpv1.ReasonDeleting:
		return false // else a new object would show nothing of it, and one that is being deleted would stay Ready
	case failure.IsSystemOutOfReach(reason):
		patience = outagePatience
	case reason == failure.ExternalSystemThrottled && isSettled(p.managed): // do not report a delayed poll
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

// setNoted sets the conditions that steps noted: at the end of a pass, and before each call of the client, which may replace them.
func (p *pass) setNoted() {
	if len(p.conditions) > 0 {
		p.managed.SetConditions(p.conditions...)
		p.applied, p.conditions = append(p.applied, p.conditions...), nil
	}
}

// setConditions sets the conditions of the outcome, and stamps Ready with the generation that this pass observed. A pass that
// failed did not do what it may, so InSync is not True (P81).
func (r *Reconciler) setConditions(p *pass, o outcome) {
	if !p.isRetrying(o) {
		flow.Set(p.managed, o.Synced(), p.synced)
		flow.SetState(p.managed, o.State(), p.states)
	}
	if o.End.Bad() && p.inSync().Status == corev1.ConditionTrue {
		flow.Set(p.managed, xpv1.InSyncUnknown(), p.wasInSync)
	}
	switch {
	case meta.WasDeleted(p.managed): // also while the deletion cannot proceed
		p.managed.SetConditions(xpv1.Deleting())
	case r.isUnobserved(p, o) && p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue:
		p.managed.SetConditions(xpv1.CannotObserve(failure.Of(o.Err).Reason))
	}
	ready := p.managed.GetCondition(xpv1.TypeReady)
	if isNew := p.observed || ready.ObservedGeneration == 0 || !ready.Equal(p.ready); isNew && ready.Reason != "" {
		flow.Set(p.managed, ready, p.ready)
	}
}

// isRetrying is true while a call runs in the background that follows a failure: whether it succeeds is not known yet, so that the failure
// stays reported, and counts for the backoff (N99).
func (p *pass) isRetrying(o outcome) bool {
	return o.End == flow.Wait && p.memory.operation != nil && p.synced.Reason == xpv1.ReasonReconcileError &&
		p.synced.ObservedGeneration == p.managed.GetGeneration()
}

// isUnobserved is true if the pass failed before it observed the external resource, so that its state is not known (N44). An update in
// the background follows an observation, and throttled calls are no sign of trouble for a while.
func (r *Reconciler) isUnobserved(p *pass, o outcome) bool {
	isThrottled := failure.Of(o.Err).Reason == failure.ExternalSystemThrottled &&
		r.now().Sub(p.memory.throttled) < max(throttledTime, throttledPolls*p.poll)
	return o.End.Bad() && !p.observed && o.Reason != ReasonCannotUpdate && !isThrottled
}

// wasReady is true for condition Ready of an object whose external resource was usable, as its client saw it, when it was last observed.
func wasReady(c xpv1.Condition) bool {
	return c.Status == corev1.ConditionTrue || c.Reason == xpv1.ReasonCannotObserve || slices.Contains(withheld, c.Reason)
}

// record emits events, and logs them for people who read the log only.
func (r *Reconciler) record(ctx context.Context, p *pass, events []event.Event) {
	for _, e := range events {
		r.logOf(ctx, p.managed).Info(e.Message, "reason", e.Reason)
	}
	flow.Record(ctx, r.recorder, r.log, p.managed, events...)
}

// requeue remembers the end of the pass and asks for the next one.
func (r *Reconciler) requeue(p *pass, o outcome, after time.Duration, overtaken bool) (reconcile.Result, error) {
	now, due := r.now(), time.Time{}
	p.memory.settled = (o.End == flow.Continue || o.End == flow.Throttle) && isSettled(p.managed)
	if p.memory.settled && after > 10*pollTick {
		after = now.Add(after + pollTick).Truncate(pollTick).Sub(now)
	}
	if after > 0 {
		due = now.Add(after)
	}
	r.memory.ended(p, now, due, overtaken, o.End == flow.Gone)
	return p.memory.requeueAfter(after), nil
}

// backoff is the delay after errors: first, doubled with every further error in a row, up to most.
type backoff struct{ first, most time.Duration }

// after returns the delay after the given number of errors in a row. Of each delay a random half is jitter, so that
// objects that failed together are not retried together.
func (b backoff) after(failures int, random float64) time.Duration {
	d := b.most
	if shift := max(failures-1, 0); shift < 32 && b.first<<shift < b.most {
		d = b.first << shift
	}
	return d/2 + time.Duration(random*float64(d/2))
}

// shortestPoll is how soon an unfinished external resource is observed again.
const shortestPoll = 500 * time.Millisecond

// delay is when the next pass is due after an outcome; zero for not by time.
func (r *Reconciler) delay(p *pass, o outcome) time.Duration {
	return o.Delay(flow.Timing{
		Poll:    r.pollAfter(p),
		Retry:   spread(p.poll, p.managed.GetUID()),
		Backoff: func() time.Duration { return r.backoff.after(p.memory.failures, r.random()) },
		Jitter: func(after time.Duration) time.Duration {
			after = max(after, shortestPoll)
			return after + time.Duration(r.random()*float64(after)/2)
		},
	})
}

// pollAfter returns when to observe the external resource again: at the poll interval if it is usable, else the sooner the
// less time it has been in its state, so that quick work is seen quickly and slow work is not polled every moment.
func (r *Reconciler) pollAfter(p *pass) time.Duration {
	ready := p.managed.GetCondition(xpv1.TypeReady)
	if ready.Status != corev1.ConditionFalse {
		return spread(p.poll, p.managed.GetUID())
	}
	since := r.now().Sub(ready.LastTransitionTime.Time)
	return min(max(since/2, shortestPoll), p.poll)
}

// pollTick is when polls begin: many at once take less than half of the CPU time that they take one by one, each in a process that slept.
const pollTick = 100 * time.Millisecond

// spread changes an interval by a tenth at most, always the same for one object, so that polls do not come in waves.
func spread(d time.Duration, uid types.UID) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(uid))
	return d - d/10 + time.Duration(float64(d/5)*float64(h.Sum32())/float64(1<<32))
}

// Priorities of requests in the controller's queue: users' changes and objects that are not settled go before polls.
const (
	priorityWork = 0
	priorityPoll = handler.LowPriority
)

// requeueAfter asks for the next pass over the object after a while, zero for not by time.
func (rec *record) requeueAfter(after time.Duration) reconcile.Result {
	priority := priorityWork
	if rec.settled {
		priority = priorityPoll
	}
	return reconcile.Result{RequeueAfter: after, Priority: &priority}
}

// isSettled is true for an object that is as its spec wants it, as far as its conditions show.
func isSettled(mg resource.Managed) bool {
	ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
	return !meta.WasDeleted(mg) && ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue &&
		synced.ObservedGeneration == mg.GetGeneration()
}
