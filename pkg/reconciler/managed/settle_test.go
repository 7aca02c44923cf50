// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
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
		"R184 R224 done: poll":             {outcome: next(), synced: xpv1.ReasonReconcileSuccess, after: spread(time.Minute, "uid")},
		"R89 waiting: soon":                {outcome: await(3*time.Second, "why"), synced: xpv1.ReasonReconcileSuccess, after: 3 * time.Second},
		"R185 R222 failed: backoff":        {outcome: fail(ReasonCannotObserve, boom), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: time.Second},
		"O29 throttled: when asked":        {outcome: fail(ReasonCannotObserve, busy{}), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: 6 * time.Second},
		"O29 throttled: never at once":     {outcome: fail(ReasonCannotObserve, hasty{}), synced: xpv1.ReasonReconcileError, event: ReasonCannotObserve, after: 750 * time.Millisecond},
		"rejected: at the poll":            {outcome: fail(ReasonCannotCreate, Terminal(boom)), synced: xpv1.ReasonReconcileError, event: ReasonCannotCreate, after: spread(time.Minute, "uid")},
		"R91 R225 stopped: not by time":    {outcome: stop(ReasonCannotInitialize, boom), synced: xpv1.ReasonReconcileError, event: ReasonCannotInitialize},
		"R98 R99 R225 paused: not by time": {outcome: pause("why"), synced: xpv1.ReasonReconcilePaused, event: ReasonPaused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pass{managed: newStatusOnly(), memory: &record{failures: 1}, poll: time.Minute}
			if got := tc.outcome.synced().Reason; got != tc.synced {
				t.Errorf("Synced: %s, want %s", got, tc.synced)
			}
			if e, news := tc.outcome.event(p); e.Reason != tc.event || news != (tc.event != "") {
				t.Errorf("event %q (news: %t), want %q", e.Reason, news, tc.event)
			}
			if got := r.delay(p, tc.outcome); got != tc.after {
				t.Errorf("comes back after %s, want %s", got, tc.after)
			}
			p.synced = tc.outcome.synced().WithObservedGeneration(7)
			if _, news := tc.outcome.event(p); news {
				t.Error("N13 what the object says already is no news")
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
		"R224 usable":                  {ready: xpv1.Available(), want: spread(time.Minute, "uid")},
		"R44 just created":             {ready: xpv1.Creating(), want: shortestPoll},
		"R44 creating for a while":     {ready: xpv1.Creating(), since: 10 * time.Second, want: 5 * time.Second},
		"R44 creating for a long time": {ready: xpv1.Creating(), since: time.Hour, want: time.Minute},
		"R55 deleting":                 {ready: xpv1.Deleting(), since: 4 * time.Second, want: 2 * time.Second},
	} {
		mg := newStatusOnly()
		tc.ready.LastTransitionTime = metav1.NewTime(now.Add(-tc.since))
		mg.SetConditions(tc.ready)
		if got := r.pollAfter(&pass{managed: mg, poll: time.Minute}); got != tc.want {
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

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a refusal":                   {errors.New("quota exceeded"), false},
		"nobody listens":              {fmt.Errorf("calling: %w", dial), false},
		"the connection broke":        {fmt.Errorf("calling: %w", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), true},
		"the answer ended too soon":   {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), true},
		"time ran out":                {fmt.Errorf("calling: %w", context.DeadlineExceeded), true},
		"the process is stopping":     {context.Canceled, true},
		"N5 the connection was lost":  {&url.Error{Op: "Post", URL: "https://cloud", Err: errors.New("http2: client connection lost")}, true},
		"N5 a broken connection":      {fmt.Errorf("calling: %w", net.ErrClosed), true},
		"N5 no such host":             {&url.Error{Op: "Post", URL: "https://cloud", Err: &net.OpError{Op: "dial", Err: &net.DNSError{}}}, false},
		"N5 it was told to come back": {&url.Error{Op: "Post", URL: "https://cloud", Err: busy{}}, false},
		"the author says so":          {fmt.Errorf("calling: %w", OutcomeUnknown(errors.New("HTTP 500"))), true},
	} {
		if got := outcomeUnknown(tc.err); got != tc.want {
			t.Errorf("after %s: unknown %t, want %t", name, got, tc.want)
		}
	}
	if OutcomeUnknown(nil) != nil {
		t.Error("no error stays none")
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
		t.Errorf("R184 ResourceStatus and ownStatus -want +got:\n%s", diff)
	}
}
