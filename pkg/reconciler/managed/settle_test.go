// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

// statusOnly is the part of a managed resource that settle's decisions read.
type statusOnly struct {
	corev1.ConfigMap
	xpv1.ConditionedStatus
	policies xpv1.ManagementPolicies
}

func (s *statusOnly) SetManagementPolicies(p xpv1.ManagementPolicies) { s.policies = p }

func (s *statusOnly) GetManagementPolicies() xpv1.ManagementPolicies { return s.policies }

func newStatusOnly() *statusOnly {
	return &statusOnly{ConfigMap: corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}}
}

// busy is the error of a system that asks for four seconds of peace.
type busy struct{}

func (busy) Error() string { return "too many calls" }

func (busy) RetryAfter() time.Duration { return 4 * time.Second }

// hasty is the error of a system that asks for next to none.
type hasty struct{ busy }

func (hasty) RetryAfter() time.Duration { return time.Microsecond }

// Every outcome beside what the user sees of it and when the reconciler comes back. This table is the manual.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	r := &Reconciler{
		backoff: backoff{first: time.Second, most: time.Minute},
		now:     func() time.Time { return now },
		random:  func() float64 { return 1 },
	}
	boom := errors.New("boom")
	cases := map[string]struct {
		outcome outcome
		synced  xpv1.ConditionReason
		event   event.Reason
		after   time.Duration
	}{
		"done: poll (R184, R224)":              {outcome: flow.Next(), synced: xpv1.ReasonReconcileSuccess, after: spread(time.Minute, "uid")},
		"waiting: soon (R89)":                  {outcome: flow.Await(3*time.Second, "why"), synced: xpv1.ReasonReconcileSuccess, after: 3 * time.Second},
		"failed: backoff (R185, R222)":         {outcome: failed(ReasonCannotObserve, boom), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: time.Second},
		"throttled: when asked (O29)":          {outcome: failed(ReasonCannotObserve, busy{}), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: 6 * time.Second},
		"throttled: never at once (O29)":       {outcome: failed(ReasonCannotObserve, hasty{}), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: 750 * time.Millisecond},
		"rejected: at the poll":                {outcome: failed(ReasonCannotCreate, failure.Terminal(boom)), synced: xpv1.ReasonReconcileError, event: ReasonCannotCreate, after: spread(time.Minute, "uid")},
		"stopped: not by time (R91, R225)":     {outcome: stopped(ReasonCannotInitialize, boom), synced: xpv1.ReasonReconcileError, event: ReasonCannotInitialize},
		"paused: not by time (R98, R99, R225)": {outcome: flow.Paused(ReasonPaused, "why"), synced: xpv1.ReasonReconcilePaused, event: ReasonPaused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pass{object: object{managed: newStatusOnly()}, session: session{poll: time.Minute}, memory: &record{failures: 1}}
			if got := tc.outcome.Synced().Reason; got != tc.synced {
				t.Errorf("Synced: %s, want %s", got, tc.synced)
			}
			if e, news := p.event(tc.outcome); e.Reason != tc.event || news != (tc.event != "") {
				t.Errorf("event %q (news: %t), want %q", e.Reason, news, tc.event)
			}
			if got := r.delay(p, tc.outcome); got != tc.after {
				t.Errorf("comes back after %s, want %s", got, tc.after)
			}
			p.synced = tc.outcome.Synced().WithObservedGeneration(7)
			if _, news := p.event(tc.outcome); news {
				t.Error("what the object says already is no news (N13)")
			}
		})
	}
}

func TestPollAfter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	r := &Reconciler{now: func() time.Time { return now }}
	for name, tc := range map[string]struct {
		ready xpv1.Condition
		since time.Duration
		want  time.Duration
	}{
		"usable (R224)":                  {ready: xpv1.Available(), want: spread(time.Minute, "uid")},
		"just created (R44)":             {ready: xpv1.Creating(), want: shortestPoll},
		"creating for a while (R44)":     {ready: xpv1.Creating(), since: 10 * time.Second, want: 5 * time.Second},
		"creating for a long time (R44)": {ready: xpv1.Creating(), since: time.Hour, want: time.Minute},
		"deleting (R55)":                 {ready: xpv1.Deleting(), since: 4 * time.Second, want: 2 * time.Second},
	} {
		mg := newStatusOnly()
		tc.ready.LastTransitionTime = metav1.NewTime(now.Add(-tc.since))
		mg.SetConditions(tc.ready)
		if got := r.pollAfter(&pass{object: object{managed: mg}, session: session{poll: time.Minute}}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	different := map[time.Duration]bool{}
	for i := range 100 {
		d := spread(time.Minute, types.UID(fmt.Sprint(i)))
		if d < 54*time.Second || d > 66*time.Second || d != spread(time.Minute, types.UID(fmt.Sprint(i))) {
			t.Errorf("object %d polls every %s", i, d)
		}
		different[d] = true
	}
	if len(different) < 90 {
		t.Errorf("100 objects poll at only %d intervals", len(different))
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := backoff{first: time.Second, most: time.Minute}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := b.after(failures, 1); got != want {
			t.Errorf("after %d failures at most %s, want %s", failures, got, want)
		}
		if got := b.after(failures, 0); got != want/2 {
			t.Errorf("after %d failures at least %s, want %s", failures, got, want/2)
		}
	}
}

// The cause of a failure, by where it arose and by what classified it.
func TestCauses(t *testing.T) {
	t.Parallel()
	boom, network := errors.New("boom"), &url.Error{Op: "Get", URL: "http://10.0.0.1", Err: errors.New("EOF")}
	team := failure.ForTeam(failure.QuotaExceeded, "full", boom)
	for name, tc := range map[string]struct {
		outcome outcome
		want    failure.Class
		state   xpv1.ConditionType
	}{
		"a call that failed (N17)":                {failed(ReasonCannotObserve, callFailed("observing", boom)), failure.Class{Reason: failure.ExternalCallFailed}, xpv1.TypeReconciling},
		"a call without an answer (N17)":          {failed(ReasonCannotObserve, callFailed("observing", network)), failure.Of(failure.Unreachable(boom)), xpv1.TypeReconciling},
		"a call that timed out (N17)":             {failed(ReasonCannotCreate, context.DeadlineExceeded), failure.Of(failure.Unreachable(boom)), xpv1.TypeReconciling},
		"a call that was throttled (N17)":         {failed(ReasonCannotCreate, busy{}), failure.Of(failure.Throttled(boom, 0)), xpv1.TypeReconciling},
		"a call that the provider classified":     {failed(ReasonCannotCreate, callFailed("creating", team)), failure.Class{Reason: failure.QuotaExceeded, Message: "full"}, xpv1.TypeReconciling},
		"a setting that is refused for good":      {failed(ReasonCannotUpdate, failure.Terminal(team)), failure.Class{Reason: failure.QuotaExceeded, Message: "full"}, xpv1.TypeStalled},
		"a lookup without an answer":              {lookupFailed(network), failure.Of(failure.Unreachable(boom)), xpv1.TypeReconciling},
		"a lookup that failed":                    {lookupFailed(boom), failure.Class{Reason: failure.ExternalCallFailed}, xpv1.TypeReconciling},
		"the API server does not answer":          {failed(ReasonCannotPublish, network), failure.Class{Reason: failure.ConnectionSecretUnavailable}, xpv1.TypeReconciling},
		"the object cannot be written":            {written("x", network), failure.Class{Reason: failure.InternalError}, xpv1.TypeReconciling},
		"a reference that cannot be resolved yet": {rejected(ReasonCannotResolve, boom), failure.Class{Reason: failure.WaitingForReferences}, xpv1.TypeReconciling},
		"policies that cannot be followed":        {rejected(ReasonInvalidPolicy, boom), failure.Class{Reason: failure.InvalidPolicy}, xpv1.TypeStalled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := tc.outcome.State()
			if got := (failure.Class{Reason: state.Reason, Message: state.Message}); got != tc.want || state.Type != tc.state {
				t.Errorf("%s %+v, want %s %+v", state.Type, got, tc.state, tc.want)
			}
		})
	}
}

// What is kept of a status that is refused is what every status has.
func TestOwnStatus(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, of := range []reflect.Type{reflect.TypeFor[xpv1.ConditionedStatus](), reflect.TypeFor[xpv1.ResourceStatus]()} {
		for field := range of.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				fields = append(fields, name)
			}
		}
	}
	if diff := cmp.Diff(fields, ownStatus()); diff != "" {
		t.Errorf("ResourceStatus and ownStatus (R184) -want +got:\n%s", diff)
	}
}
