// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// An Ending decides how a pass ends after a step.
type Ending int

// Endings.
const (
	Continue Ending = iota // with the next step; after the last one: poll when due
	Wait                   // for the external system or another object
	Pause                  // until the object is resumed
	Stop                   // until a person acts
	Reject                 // until something changes, or the next poll
	Throttle               // for as long as the external system asks
	Fail                   // retry with backoff
	Conflict               // another writer was first; the watch brings the object back
	Gone                   // no object left to write to, or nothing to write
)

// A requeue is the rule for the time of the next pass.
type requeue int

const (
	never   requeue = iota // only when something changes
	polled                 // at the poll, or sooner if the step asks
	retried                // at the poll of an object in error, or when the step asks
	asked                  // when the external system asks
	backoff                // later after each failure
)

// rules is what each ending means: the manual of settle.
var rules = [...]struct {
	name    string               // in metrics, spans and logs
	synced  xpv1.ConditionReason // of condition Synced; empty: no condition is written
	state   xpv1.ConditionType   // that is True; empty: neither Stalled nor Reconciling
	event   string               // type; empty: none
	requeue requeue
}{
	Continue: {"done", xpv1.ReasonReconcileSuccess, "", "", polled},
	Wait:     {"waiting", xpv1.ReasonReconcileSuccess, "", "", polled}, // Reconciling if the outcome has a cause
	Pause:    {"paused", xpv1.ReasonReconcilePaused, "", corev1.EventTypeNormal, never},
	Stop:     {"stopped", xpv1.ReasonReconcileError, xpv1.TypeStalled, corev1.EventTypeWarning, never},
	Reject:   {"rejected", xpv1.ReasonReconcileError, xpv1.TypeStalled, corev1.EventTypeWarning, retried},
	Throttle: {"throttled", xpv1.ReasonReconcileError, xpv1.TypeReconciling, corev1.EventTypeWarning, asked},
	Fail:     {"failed", xpv1.ReasonReconcileError, xpv1.TypeReconciling, corev1.EventTypeWarning, backoff},
	Conflict: {"conflict", "", "", "", polled},
	Gone:     {"gone", "", "", "", never},
}

// String is the name of the ending in metrics, spans and logs.
func (e Ending) String() string { return rules[e].name }

// Bad is true for endings that people see as an error.
func (e Ending) Bad() bool { return rules[e].synced == xpv1.ReasonReconcileError }

// Synced is condition Synced after the pass. Its message is for the platform team. It has no type where there is nothing
// to write.
func (o Outcome) Synced() xpv1.Condition {
	switch rules[o.End].synced {
	case xpv1.ReasonReconcileError:
		return xpv1.ReconcileError(o.Err)
	case xpv1.ReasonReconcilePaused:
		return xpv1.ReconcilePaused().WithMessage(o.Message)
	case xpv1.ReasonReconcileSuccess:
		return xpv1.ReconcileSuccess().WithMessage(o.Message)
	default:
		return xpv1.Condition{}
	}
}

// State is condition Stalled or Reconciling after the pass: the zero condition if neither is True. An error that another
// object resolves leaves the object Reconciling.
func (o Outcome) State() xpv1.Condition {
	class, state := failure.Of(o.Err), rules[o.End].state
	if o.End == Wait && o.Cause != "" {
		class, state = failure.Class{Reason: o.Cause}, xpv1.TypeReconciling
	}
	switch {
	case state == "":
		return xpv1.Condition{}
	case state == xpv1.TypeReconciling, class.Reason == failure.WaitingForReferences:
		return xpv1.Reconciling(class.Reason, class.Message)
	default:
		return xpv1.Stalled(class.Reason, class.Message)
	}
}

// Event is the event of an outcome, and false where there is none. The reconciler emits it, once per change.
func (o Outcome) Event() (e event.Event, speaks bool) {
	switch rules[o.End].event {
	case corev1.EventTypeWarning:
		return event.Warning(o.Reason, o.Err), true
	case corev1.EventTypeNormal:
		return event.Normal(o.Reason, o.Message), true
	default:
		return event.Event{}, false
	}
}

// Timing is when objects of a reconciler are due that keeps the time of each object itself.
type Timing struct {
	Poll    time.Duration                     // of the object, which may be unfinished
	Retry   time.Duration                     // of an object that was rejected, or waits for another one
	Backoff func() time.Duration              // after the failures of the object so far
	Jitter  func(time.Duration) time.Duration // lengthens a delay that many objects get at once
}

// Delay is when the next pass is due; zero for not by time.
func (o Outcome) Delay(t Timing) time.Duration {
	switch rules[o.End].requeue {
	case polled:
		poll := t.Poll
		if o.Cause != "" { // the external resource is not what the object waits for
			poll = t.Retry
		}
		if o.After > 0 {
			return min(o.After, poll)
		}
		return poll
	case retried:
		if o.After > 0 {
			return o.After
		}
		return t.Retry
	case asked:
		return t.Jitter(o.After)
	case backoff:
		return t.Backoff()
	default:
		return 0
	}
}

// ConflictDelay is when an object is read again to which another writer wrote first.
const ConflictDelay = 100 * time.Millisecond

// Result is the Delay of the outcome where the controller keeps no time of its own, except in three cases: its queue backs off, so a
// failure is its error; its watches report whatever changes a finished object, so that is not polled; and the poll, if there is one,
// is too late for an object to which another writer wrote first.
func (o Outcome) Result(poll time.Duration) (reconcile.Result, error) {
	switch o.End {
	case Continue:
		return reconcile.Result{}, nil
	case Conflict:
		return reconcile.Result{RequeueAfter: ConflictDelay}, nil
	case Fail:
		return reconcile.Result{}, o.Err
	default:
		exact := func(d time.Duration) time.Duration { return d }
		return reconcile.Result{RequeueAfter: o.Delay(Timing{Poll: poll, Retry: poll, Jitter: exact})}, nil
	}
}
