// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var ran []string
	step := func(name string, o flow.Outcome) flow.Step[string] {
		return func(_ context.Context, pass string) flow.Outcome {
			ran = append(ran, pass+name)
			return o
		}
	}
	o := flow.Run(t.Context(), "p", step("1", flow.Next()), step("2", flow.Await(time.Second, "wait")), step("3", flow.Next()))
	if diff := cmp.Diff([]string{"p1", "p2"}, ran); diff != "" || o.End != flow.Wait {
		t.Errorf("ended %s, -want +got:\n%s", o.End, diff)
	}
	if o := flow.Run(t.Context(), "p", step("1", flow.Next())); o.End != flow.Continue {
		t.Errorf("ended %s", o.End)
	}
}

// want is how a pass settles.
type want struct {
	name, synced, state, event string
	delay                      time.Duration
	result                     reconcile.Result
	err                        bool
}

func text(c xpv1.Condition, head string) string {
	if c.Type == "" {
		return ""
	}
	return head + " " + string(c.Reason) + " " + c.Message
}

// held is an object with finalizers.
func held(finalizers ...string) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
}

// Every way to end a pass beside its conditions, event and requeue.
func TestSettle(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	quota := failure.ForTeam(failure.QuotaExceeded, "full", boom)
	conflict := apierrors.NewConflict(schema.GroupResource{}, "o", boom)
	const poll, retry, wait, jitter = time.Minute, time.Hour, 3 * time.Second, 100 * time.Millisecond
	polled := reconcile.Result{RequeueAfter: poll}
	cases := map[string]struct {
		o    flow.Outcome
		want want
	}{
		"done": {flow.Next(), want{name: "done", synced: "True ReconcileSuccess ", delay: poll}},
		"waits": {flow.Await(0, "m"),
			want{name: "waiting", synced: "True ReconcileSuccess m", delay: poll, result: polled}},
		"waits a while": {flow.Await(wait, "m"),
			want{name: "waiting", synced: "True ReconcileSuccess m", delay: wait, result: reconcile.Result{RequeueAfter: wait}}},
		"waits for others": {flow.AwaitFor(failure.WaitingForDependents, 2*poll, "m"),
			want{name: "waiting", synced: "True ReconcileSuccess m", state: "Reconciling WaitingForDependents ", delay: 2 * poll, result: polled}},
		"waits for finalizers": {flow.AwaitFinalizers(held("a", "ours", "b"), "ours"),
			want{name: "waiting", synced: "True ReconcileSuccess Deletion waits until other finalizers are removed: a, b.",
				state: "Reconciling WaitingForFinalizers ", delay: retry, result: polled}},
		"ours is the last finalizer": {flow.AwaitFinalizers(held("ours"), "ours"), want{name: "done", synced: "True ReconcileSuccess ", delay: poll}},
		"no finalizer is left":       {flow.AwaitFinalizers(held(), "ours"), want{name: "gone"}},
		"paused": {flow.Paused("ReconcilePaused", "m"),
			want{name: "paused", synced: "False ReconcilePaused m", event: "Normal ReconcilePaused m"}},
		"stopped": {flow.Stopped("R", failure.With(failure.CreateInterrupted, boom)),
			want{name: "stopped", synced: "False ReconcileError boom", state: "Stalled CreateInterrupted ", event: "Warning R boom"}},
		"rejected": {flow.Rejected("R", quota),
			want{name: "rejected", synced: "False ReconcileError boom", state: "Stalled QuotaExceeded full", event: "Warning R boom",
				delay: retry, result: polled}},
		"rejected because another object is missing": {flow.Rejected("R", failure.With(failure.WaitingForReferences, boom)),
			want{name: "rejected", synced: "False ReconcileError boom", state: "Reconciling WaitingForReferences ", event: "Warning R boom",
				delay: retry, result: polled}},
		"terminal": {flow.Failed("R", failure.Terminal(quota)),
			want{name: "rejected", synced: "False ReconcileError boom", state: "Stalled QuotaExceeded full", event: "Warning R boom",
				delay: retry, result: polled}},
		"terminal to controller-runtime": {flow.Failed("R", reconcile.TerminalError(boom)),
			want{name: "rejected", synced: "False ReconcileError terminal error: boom", state: "Stalled InternalError ",
				event: "Warning R terminal error: boom", delay: retry, result: polled}},
		"failed": {flow.Failed("R", boom),
			want{name: "failed", synced: "False ReconcileError boom", state: "Reconciling InternalError ", event: "Warning R boom",
				delay: 7 * time.Second, err: true}},
		"throttled": {flow.Failed("R", failure.With(failure.ExternalSystemThrottled, failure.Throttled(boom, wait))),
			want{name: "throttled", synced: "False ReconcileError boom", state: "Reconciling ExternalSystemThrottled ", event: "Warning R boom",
				delay: wait + jitter, result: reconcile.Result{RequeueAfter: wait}}},
		"written":          {flow.Written("R", nil), want{name: "done", synced: "True ReconcileSuccess ", delay: poll}},
		"write conflicted": {flow.Written("R", conflict), want{name: "conflict", delay: poll, result: reconcile.Result{RequeueAfter: flow.ConflictDelay}}},
		"write failed": {flow.Written("R", boom),
			want{name: "failed", synced: "False ReconcileError boom", state: "Reconciling InternalError ", event: "Warning R boom",
				delay: 7 * time.Second, err: true}},
		"conflicted": {flow.Conflicted(), want{name: "conflict", delay: poll, result: reconcile.Result{RequeueAfter: flow.ConflictDelay}}},
		"gone":       {flow.Vanished(), want{name: "gone"}},
	}
	timing := flow.Timing{Poll: poll, Retry: retry,
		Backoff: func() time.Duration { return 7 * time.Second },
		Jitter:  func(d time.Duration) time.Duration { return d + jitter }}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synced, state := tc.o.Synced(), tc.o.State()
			got := want{name: tc.o.End.String(), synced: text(synced, string(synced.Status)), state: text(state, string(state.Type)), delay: tc.o.Delay(timing)}
			if e, speaks := tc.o.Event(); speaks {
				got.event = e.Type + " " + string(e.Reason) + " " + e.Message
			}
			var err error
			got.result, err = tc.o.Result(poll)
			got.err = err != nil
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if bad := slices.Contains([]string{"stopped", "rejected", "throttled", "failed"}, got.name); tc.o.End.Bad() != bad {
				t.Errorf("bad is %t", tc.o.End.Bad())
			}
		})
	}
}

// conditioned is an object that has nothing but conditions.
type conditioned struct {
	corev1.ConfigMap
	xpv1.ConditionedStatus
}

func TestConditions(t *testing.T) {
	t.Parallel()
	o := &conditioned{}
	o.Generation = 3
	flow.SetState(o, xpv1.Condition{}, flow.States(o))
	if len(o.Conditions) > 0 {
		t.Errorf("an object that never failed has %+v", o.Conditions)
	}
	flow.SetState(o, xpv1.Reconciling("A", ""), flow.States(o))
	flow.SetState(o, xpv1.Stalled("B", "m"), flow.States(o))
	if got := xpv1.FailureOf(o); got != (xpv1.CurrentFailure{Reason: "B", Message: "m", Stalled: true}) ||
		o.GetCondition(xpv1.TypeReconciling).Status != corev1.ConditionFalse || o.GetCondition(xpv1.TypeStalled).ObservedGeneration != 3 {
		t.Errorf("got %+v", o.Conditions)
	}
	past := metav1.NewTime(time.Unix(1000, 0))
	o.Conditions[0].LastTransitionTime, o.Conditions[1].LastTransitionTime = past, past
	start := flow.States(o)
	for _, state := range []xpv1.Condition{{}, xpv1.Reconciling("C", ""), xpv1.Stalled("B", "m")} {
		flow.SetState(o, state, start)
	}
	if got := o.GetCondition(xpv1.TypeStalled); !got.LastTransitionTime.Equal(&past) || o.GetCondition(xpv1.TypeReconciling).Status == corev1.ConditionTrue {
		t.Errorf("stalled again within a pass is %+v", o.Conditions)
	}
	flow.SetState(o, xpv1.Condition{}, flow.States(o))
	if got := xpv1.FailureOf(o); got != (xpv1.CurrentFailure{}) || len(o.Conditions) != 2 {
		t.Errorf("after recovery %+v", o.Conditions)
	}

	before := xpv1.Available().WithObservedGeneration(2)
	before.LastTransitionTime = past
	o.SetConditions(before)
	o.SetConditions(xpv1.Deleting())
	flow.Set(o, xpv1.Available(), before)
	if got := o.GetCondition(xpv1.TypeReady); !got.LastTransitionTime.Equal(&before.LastTransitionTime) || got.ObservedGeneration != 3 {
		t.Errorf("back and forth within a pass is %+v (R195)", got)
	}
}

type recorder struct {
	events []event.Event
	err    error
}

func (r *recorder) Event(_ context.Context, _ client.Object, e event.Event) error {
	r.events = append(r.events, e)
	return r.err
}

func TestRecord(t *testing.T) {
	t.Parallel()
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err   error
		lines int
	}{
		"one that was not recorded stops no other (N32)":        {errors.New("connection refused"), 2},
		"a namespace that is being deleted needs no line (N32)": {terminating, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, r := 0, &recorder{err: tc.err}
			log := funcr.New(func(string, string) { lines++ }, funcr.Options{})
			flow.Record(t.Context(), r, log, &corev1.ConfigMap{}, event.Normal("A", "a"), event.Normal("B", "b"))
			if len(r.events) != 2 || lines != tc.lines {
				t.Errorf("%d events, %d lines, want %d", len(r.events), lines, tc.lines)
			}
		})
	}
}
