// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// Every outcome beside what the user sees of it and when the reconciler comes back. This table is the manual.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	r := &Reconciler{
		backoff: backoff{first: time.Second, most: time.Minute},
		now:     func() time.Time { return now },
		random:  func() float64 { return 1 },
	}
	boom, poll := errors.New("boom"), spread(time.Minute, "uid")
	hasty := failure.Throttled(boom, time.Microsecond)
	const ok, bad, paused = xpv1.ReasonReconcileSuccess, xpv1.ReasonReconcileError, xpv1.ReasonReconcilePaused
	for name, tc := range map[string]struct {
		outcome outcome
		synced  xpv1.ConditionReason
		event   event.Reason
		after   time.Duration
	}{
		"done: poll (R184, R224)":              {flow.Next(), ok, "", poll},
		"waiting: soon (R89)":                  {flow.Await(3*time.Second, "why"), ok, "", 3 * time.Second},
		"failed: backoff (R185, R222)":         {failed(ReasonCannotObserve, boom), bad, ReasonCannotObserve, time.Second},
		"throttled: when asked (O29)":          {failed(ReasonCannotObserve, busy{}), bad, ReasonCannotObserve, 6 * time.Second},
		"throttled: never at once (O29)":       {failed(ReasonCannotObserve, hasty), bad, ReasonCannotObserve, 750 * time.Millisecond},
		"rejected: at the poll":                {failed(ReasonCannotCreate, failure.Terminal(boom)), bad, ReasonCannotCreate, poll},
		"stopped: not by time (R91, R225)":     {stopped(ReasonCannotInitialize, boom), bad, ReasonCannotInitialize, 0},
		"paused: not by time (R98, R99, R225)": {flow.Paused(ReasonPaused, "why"), paused, ReasonPaused, 0},
	} {
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
				t.Error("what the object reports already is no news (N13)")
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

func TestPollsBeginTogether(t *testing.T) {
	t.Parallel()
	settled := newStatusOnly()
	settled.SetConditions(xpv1.Available(), xpv1.ReconcileSuccess())
	r := &Reconciler{now: func() time.Time { return time.UnixMilli(1_000_030) }, memory: newMemory()}
	for after, want := range map[time.Duration]time.Duration{0: 0, shortestPoll: shortestPoll, time.Minute: time.Minute + 70*time.Millisecond} {
		for mg, want := range map[*statusOnly]time.Duration{settled: want, newStatusOnly(): after} {
			got, _ := r.requeue(&pass{object: object{managed: mg}, memory: &record{}}, flow.Next(), after, false)
			if got.RequeueAfter != want {
				t.Errorf("after %s: %s, want %s", after, got.RequeueAfter, want)
			}
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
	for failures, seconds := range map[int]int{1: 1, 2: 2, 6: 32, 7: 60, 1000: 60} {
		want := time.Duration(seconds) * time.Second
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
	of := func(reason failure.Reason) failure.Class { return failure.Class{Reason: reason} }
	full, unreachable := failure.Class{Reason: failure.QuotaExceeded, Message: "full"}, failure.Of(failure.Unreachable(boom))
	const stalled, retried = xpv1.TypeStalled, xpv1.TypeReconciling
	for name, tc := range map[string]struct {
		outcome outcome
		want    failure.Class
		state   xpv1.ConditionType
	}{
		"a call that failed (N17)": {
			failed(ReasonCannotObserve, callFailed("observing", boom)), of(failure.ExternalCallFailed), retried},
		"a call without an answer (N17)":      {failed(ReasonCannotObserve, callFailed("observing", network)), unreachable, retried},
		"a call that timed out (N17)":         {failed(ReasonCannotCreate, context.DeadlineExceeded), unreachable, retried},
		"a call that was throttled (N17)":     {failed(ReasonCannotCreate, busy{}), failure.Of(failure.Throttled(boom, 0)), retried},
		"a call that the provider classified": {failed(ReasonCannotCreate, callFailed("creating", team)), full, retried},
		"a setting that is refused for good":  {failed(ReasonCannotUpdate, failure.Terminal(team)), full, stalled},
		"a lookup without an answer":          {lookupFailed(network), unreachable, retried},
		"a lookup that failed":                {lookupFailed(boom), of(failure.ExternalCallFailed), retried},
		"the API server does not answer":      {failed(ReasonCannotPublish, network), of(failure.ConnectionSecretUnavailable), retried},
		"the object cannot be written":        {written("x", network), of(failure.InternalError), retried},
		"a reference that cannot be resolved yet": {
			rejected(ReasonCannotResolve, boom), of(failure.WaitingForReferences), retried},
		"policies that cannot be followed": {rejected(ReasonInvalidPolicy, boom), of(failure.InvalidPolicy), stalled},
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

// Which calls of Reconcile have nothing new to report, after a pass that read version 10 and wrote version 12.
func TestKnown(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	type known struct {
		overtaken bool
		woken     bool // while the pass went on
		wokenNow  bool // after it
		seen      []string
		after     time.Duration
		want      bool
	}
	for name, tc := range map[string]known{
		"our own write, which the watch brings back once": {seen: []string{"12"}, want: true},
		"our own write, again: something else asks":       {seen: []string{"12", "12"}},
		"a cache that is behind":                          {seen: []string{"11"}, want: true},
		"behind for long: an older state was restored":    {seen: []string{"11"}, after: time.Minute},
		"a user's write":                                  {seen: []string{"13"}},
		"a user's write that the pass has not seen":       {overtaken: true, seen: []string{"12"}},
		"woken during the pass":                           {woken: true, seen: []string{"12"}},
		"woken after the pass":                            {wokenNow: true, seen: []string{"12"}},
		"due":                                             {seen: []string{"12"}, after: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, mg := newMemory(), newStatusOnly()
			mg.SetResourceVersion("10")
			rec, wakes := m.of(mg)
			p := &pass{object: object{managed: mg}, before: before{wakes: wakes, resourceVersion: "10"}, memory: rec}
			key := client.ObjectKeyFromObject(mg)
			if tc.woken {
				m.wake(key)
			}
			mg.SetResourceVersion("12")
			m.ended(p, start, start.Add(10*time.Second), tc.overtaken, false)
			if tc.wokenNow {
				m.wake(key)
			}
			var got bool
			for _, version := range tc.seen {
				mg.SetResourceVersion(version)
				var rest time.Duration
				if got, rest = m.known(mg, start.Add(tc.after)); got && rest <= 0 {
					t.Error("what is due must come back in time")
				}
			}
			if got != tc.want {
				t.Errorf("nothing new: %t, want %t", got, tc.want)
			}
		})
	}
}

// Every reason that the code names has an explanation, and no explanation is of a reason that is gone.
func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	t.Run("each once (R204)", func(t *testing.T) {
		source, err := os.ReadFile("reasons.go")
		if err != nil {
			t.Fatal(err)
		}
		var named, explained []string
		for _, reason := range regexp.MustCompile(`event.Reason += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			named = append(named, reason[1])
		}
		for _, e := range Reasons() {
			if explained = append(explained, string(e.Reason)); e.Meaning == "" {
				t.Errorf("%s has no meaning", e.Reason)
			}
		}
		slices.Sort(named)
		slices.Sort(explained)
		if diff := cmp.Diff(named, explained); diff != "" || len(named) == 0 {
			t.Errorf("-named +explained:\n%s", diff)
		}
	})
}
