// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// An Object has conditions.
type Object interface {
	client.Object
	SetConditions(c ...xpv1.Condition)
	GetCondition(t xpv1.ConditionType) xpv1.Condition
}

// Set sets a condition, stamped with the generation of the object. before is the condition at the start of the pass: one
// that changed within the pass and is the same at its end keeps its transition time (R195).
func Set(o Object, c, before xpv1.Condition) {
	c.ObservedGeneration = o.GetGeneration()
	if Same(c, before) {
		c.LastTransitionTime = before.LastTransitionTime
		o.SetConditions(xpv1.Condition{Type: c.Type})
	}
	o.SetConditions(c)
}

// Same is true for conditions that differ in generation and time at most.
func Same(a, b xpv1.Condition) bool { return a.WithObservedGeneration(b.ObservedGeneration).Equal(b) }

// States returns conditions Stalled and Reconciling of an object.
func States(o Object) []xpv1.Condition {
	return []xpv1.Condition{o.GetCondition(xpv1.TypeStalled), o.GetCondition(xpv1.TypeReconciling)}
}

// SetState sets conditions Stalled and Reconciling, of which at most one is True: state, or none if that is the zero
// condition. One that was never True is not added. before are the States at the start of the pass, see Set.
func SetState(o Object, state xpv1.Condition, before []xpv1.Condition) {
	for _, was := range before {
		switch {
		case state.Type == was.Type:
			Set(o, state, was)
		case was.Status == corev1.ConditionTrue, o.GetCondition(was.Type).Status == corev1.ConditionTrue:
			Set(o, xpv1.Resolved(was.Type), was)
		}
	}
}

// Report writes the status of an object as change leaves it, guarded by the resource version; nothing if nothing changed.
func Report(ctx context.Context, c client.Client, o Object, change func()) (written bool, err error) {
	before := o.DeepCopyObject().(client.Object)
	change()
	if equality.Semantic.DeepEqual(before, o) {
		return false, nil
	}
	if err := c.Status().Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("writing status: %w", err)
	}
	return true, nil
}

// Emit emits events, and logs them for people who read the log only.
func Emit(ctx context.Context, to event.Recorder, log logr.Logger, about client.Object, events ...event.Event) {
	for _, e := range events {
		log.Info(e.Message, "object", nameOf(about), "reason", e.Reason)
	}
	Record(ctx, to, log, about, events...)
}

// nameOf is the name of an object in the log.
func nameOf(o client.Object) string {
	return strings.TrimPrefix(client.ObjectKeyFromObject(o).String(), "/")
}

// Record emits events that are logged already. One that cannot be recorded fails nothing (N32), and is not worth a line if the namespace
// is being deleted with all its events.
func Record(ctx context.Context, to event.Recorder, log logr.Logger, about client.Object, events ...event.Event) {
	for _, e := range events {
		if err := to.Event(ctx, about, e); err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			log.Info("Cannot record event", "object", nameOf(about), "reason", e.Reason, "error", err.Error())
		}
	}
}

// LogReady logs that an object became ready, or is no longer ready.
func LogReady(log logr.Logger, before, now xpv1.Condition) {
	switch is, was := now.Status == corev1.ConditionTrue, before.Status == corev1.ConditionTrue; {
	case is && !was:
		log.Info("Ready")
	case was && !is && now.Reason != xpv1.ReasonDeleting:
		log.Info("No longer ready", "reason", now.Reason)
	}
}

// FailedTo ends a pass over an object of a team with an error that is retried with backoff. The team reads what was tried; the
// error may name the API server or objects of the platform team, and is logged. A conflict is no failure (R17). Without an error the
// pass continues.
func FailedTo(activity string, reason event.Reason, err error) Outcome {
	if err == nil || apierrors.IsConflict(err) {
		return Written(reason, err)
	}
	message := activity + " failed and is retried: if it lasts, ask your platform team, which can see the cause in the controllers' log"
	return Failed(reason, failure.ForTeam(failure.InternalError, message, fmt.Errorf("%s: %w", activity, err)))
}

// AwaitAs is Await with the reason of condition Ready.
func AwaitAs(reason xpv1.ConditionReason, format string, a ...any) Outcome {
	return Outcome{End: Wait, Reason: event.Reason(reason), Message: fmt.Sprintf(format, a...)}
}

// Refuse is RejectedAs with a formatted message for the team.
func Refuse(reason xpv1.ConditionReason, format string, a ...any) Outcome {
	return RejectedAs(reason, &failure.Error{Reason: reason, Message: fmt.Sprintf(format, a...)})
}

// RejectedAs is Rejected with the reason of condition Ready, which classifies an error without a reason of its own. The team reads the
// message of the error for teams, but not the error.
func RejectedAs(reason xpv1.ConditionReason, err error) Outcome {
	class := failure.Of(failure.Default(reason, err))
	message := cmp.Or(failure.Of(err).Message, "the provider cannot serve this object: ask your platform team, which can see the cause in the controllers' log")
	return Rejected(event.Reason(reason), failure.ForTeam(class.Reason, message, err))
}

// Ready is condition Ready of an object of a team after the ending Wait or Reject.
func (o Outcome) Ready() xpv1.Condition {
	return xpv1.Waiting(xpv1.ConditionReason(o.Reason), cmp.Or(o.Message, failure.Of(o.Err).Message))
}

// A TeamReport is what a pass reports on an object of a team besides its outcome.
type TeamReport struct {
	Happened  []event.Event
	Remark    string       // message of condition Ready if that is True
	Warning   event.Reason // of an event about the remark; empty for none
	SetStatus func()       // sets further fields of the status; may be nil
}

// Note adds an event.
func (r *TeamReport) Note(reason event.Reason, message string) {
	r.Happened = append(r.Happened, event.Normal(reason, message))
}

// A TeamSettler turns outcomes into conditions Ready, Synced, Stalled and Reconciling of claims and targets, which application
// teams read. Ready is never True beside a failure: a rejected object is not ready, and an error that is retried is reported on a ready
// object only if it lasts, together with condition Ready of status Unknown (N51).
type TeamSettler struct {
	Client   client.Client
	Recorder event.Recorder
	Log      logr.Logger
	Poll     time.Duration        // of objects that wait or were rejected
	Pending  xpv1.ConditionReason // of condition Ready before the object is served; waiting for that is no event

	failing sync.Map // when the failures in a row of an object began, by its UID
	written sync.Map // write of the last status that was written, by the object's UID
}

// patience is how long a retried error of a ready object is only logged.
const patience = 10 * time.Second

// MostStale is how long a cache may be behind a write. One that still is behind it later is not: the store was put back to an older state.
const MostStale = 15 * time.Second

type write struct {
	version string // of the object after it
	at      time.Time
}

// Settle writes conditions, events and status if they changed, and returns when the next pass is due (N13).
func (s *TeamSettler) Settle(ctx context.Context, of Object, r TeamReport, o Outcome) (reconcile.Result, error) {
	Emit(ctx, s.Recorder, s.Log, of, r.Happened...)
	switch {
	case o.End == Gone:
		s.failing.Delete(of.GetUID())
		s.written.Delete(of.GetUID())
		return reconcile.Result{}, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil
	case o.End == Conflict, s.isStale(of):
		return Conflicted().Result(s.Poll)
	case s.isPassing(of, o):
		result, failed := o.Result(s.Poll)
		return result, queue.Logged(failed)
	}
	wasReady, wasSynced := of.GetCondition(xpv1.TypeReady), of.GetCondition(xpv1.TypeSynced)
	ready, synced, state := s.ready(of, r, o), xpv1.ReconcileSuccess(), o.State()
	switch {
	case o.End == Pause:
		synced = o.Synced()
	case o.Err != nil: // without what only the platform team may read
		synced = xpv1.ReconcileError(errors.New(failure.Of(o.Err).Message))
	}
	written, err := Report(ctx, s.Client, of, func() {
		Set(of, ready, wasReady)
		Set(of, synced, wasSynced)
		SetState(of, state, States(of))
		if r.SetStatus != nil {
			r.SetStatus()
		}
	})
	result, failed := o.Result(s.Poll)
	switch {
	case apierrors.IsConflict(err):
		return Conflicted().Result(s.Poll)
	case err != nil: // and nothing tells of the failure yet
		return reconcile.Result{}, errors.Join(failed, client.IgnoreNotFound(err))
	}
	if written {
		s.written.Store(of.GetUID(), write{of.GetResourceVersion(), time.Now()})
	}
	log := s.Log.WithValues("object", nameOf(of))
	LogReady(log, wasReady, ready)
	e, speaks := s.event(o, r)
	switch news := written && !(Same(ready, wasReady) && Same(synced, wasSynced)); {
	case !speaks || !news:
	case o.Err == nil:
		Emit(ctx, s.Recorder, s.Log, of, e)
	default: // the log has the cause, too
		log.Info("Cannot reconcile", "outcome", o.End.String(), "reason", e.Reason, "error", o.Err.Error())
		Record(ctx, s.Recorder, s.Log, of, e)
	}
	return result, queue.Logged(failed)
}

// isStale is true if a pass saw an object as it was before the last write of its status: it would take an old report for the present one, and
// not every controller is woken when the cache has the write.
func (s *TeamSettler) isStale(of Object) bool {
	last, ok := s.written.Load(of.GetUID())
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(of.GetResourceVersion(), last.(write).version)
	stale := err == nil && order < 0 && time.Since(last.(write).at) < MostStale
	if !stale {
		s.written.Delete(of.GetUID())
	}
	return stale
}

// isPassing is true for an error that is retried soon, of an object that was ready a moment ago and may be ready in the next pass.
func (s *TeamSettler) isPassing(of Object, o Outcome) bool {
	if o.End != Fail && (o.End != Throttle || o.After >= patience) {
		s.failing.Delete(of.GetUID())
		return false
	}
	since, again := s.failing.LoadOrStore(of.GetUID(), time.Now())
	passing := of.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue && !meta.WasDeleted(of) && time.Since(since.(time.Time)) < patience
	if passing && !again {
		s.Log.Info("Cannot reconcile, which is reported if it lasts", "object", nameOf(of), "reason", o.Reason, "error", o.Err.Error())
	}
	return passing
}

// ready is condition Ready. A failure leaves it as it is, unless it was never set or True, or what the object waited for may have come.
func (s *TeamSettler) ready(of Object, r TeamReport, o Outcome) xpv1.Condition {
	was := of.GetCondition(xpv1.TypeReady)
	switch {
	case meta.WasDeleted(of):
		return xpv1.Deleting().WithMessage(cmp.Or(o.Message, failure.Of(o.Err).Message))
	case o.End == Wait, o.End == Reject:
		return o.Ready()
	case o.End == Pause && was.Reason != "":
		return was
	case o.End == Continue:
		return xpv1.Available().WithMessage(r.Remark)
	case was.Reason == "", was.Reason == s.Pending:
		return xpv1.Waiting(s.Pending, "The last pass failed and is retried: see condition Synced.")
	case was.Status == corev1.ConditionTrue:
		unknown := xpv1.Waiting(xpv1.ConditionReason(o.Reason), "It was ready, and the last passes failed: see condition Synced.")
		unknown.Status = corev1.ConditionUnknown
		return unknown
	default:
		return was
	}
}

func (s *TeamSettler) event(o Outcome, r TeamReport) (e event.Event, speaks bool) {
	switch {
	case o.End == Pause:
		return o.Event()
	case o.End == Continue && r.Warning != "":
		return event.Warning(r.Warning, errors.New(r.Remark)), true
	case o.Err != nil, o.End == Wait && o.Reason != event.Reason(s.Pending):
		return event.Warning(cmp.Or(o.Reason, event.Reason(o.Cause)), errors.New(o.Ready().Message)), true
	default:
		return event.Event{}, false
	}
}
