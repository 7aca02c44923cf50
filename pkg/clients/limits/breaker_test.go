// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// A system gives the same answer to every request.
type system struct {
	status int
	header string
	err    error
	calls  int
}

func (s *system) RoundTrip(*http.Request) (*http.Response, error) {
	s.calls++
	if s.err != nil {
		return nil, s.err
	}
	header := http.Header{}
	if s.header != "" {
		header.Set("Retry-After", s.header)
	}
	return &http.Response{StatusCode: s.status, Header: header, Body: http.NoBody}, nil
}

// A body that notices being closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// words for the reasons why a request is not sent.
var words = map[failure.Reason]string{
	failure.ExternalSystemThrottled: "throttled", failure.ExternalSystemRefused: "refused", failure.ExternalSystemUnreachable: "unreachable",
	failure.ExternalSystemUntrusted: "untrusted",
}

// request sends one request: it returns the status of the response, or "throttled 1s" and the like.
func request(t *testing.T, r *limits.Registry, s *system, c limits.Config) string {
	t.Helper()
	sent := &body{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cloud", sent)
	if err != nil {
		t.Fatal(err)
	}
	before := s.calls
	resp, err := r.For(key, limits.Version{}, c).Transport(s).RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		return fmt.Sprint(resp.StatusCode)
	}
	notSent, ok := errors.AsType[*limits.NotSentError](err)
	if !ok {
		return "error"
	}
	if s.calls != before || !sent.closed {
		t.Errorf("a request that is over the limits was sent, or its body left open")
	}
	if failure.Of(err).Reason != notSent.Reason {
		t.Errorf("%s is classified as %s", notSent.Reason, failure.Of(err).Reason)
	}
	known, health := r.Check(key, limits.Version{})
	if reason := notSent.Reason; reason != failure.ExternalSystemThrottled && (!known || failure.Of(health).Reason != reason) {
		t.Errorf("requests are %s, and the health of the ProviderConfig is known: %t, %v", reason, known, health)
	}
	return fmt.Sprint(words[notSent.Reason], " ", wait(t, err))
}

// A moment: after some time the system gives this answer, and a request gets that result.
type moment struct {
	after  time.Duration
	answer system
	want   string
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	refusing := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	ok, unknown, tooMany := system{status: 200}, system{status: 401}, system{status: 429}
	dead, slow := system{err: refusing}, system{err: context.DeadlineExceeded}
	stranger := system{err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	const s = time.Second
	for name, tc := range map[string]struct {
		config limits.Config
		story  []moment
	}{
		"429 with seconds pauses until then and no longer": {story: []moment{
			{0, system{status: 429, header: "7"}, "429"}, {0, ok, "throttled 7s"}, {6 * s, ok, "throttled 1.01s"}, {s, ok, "200"},
		}},
		"429 with a date": {story: []moment{
			{0, system{status: 429, header: "Sat, 01 Jan 2000 00:01:00 GMT"}, "429"}, {0, ok, "throttled 1m0s"}, {60 * s, ok, "200"},
		}},
		"429 without a time pauses longer each time, until a call is served": {story: []moment{
			{0, tooMany, "429"}, {0, ok, "throttled 500ms"}, {s, tooMany, "429"}, {0, ok, "throttled 1s"}, {s, tooMany, "429"},
			{0, ok, "throttled 2s"}, {2 * s, ok, "200"}, {0, tooMany, "429"}, {0, ok, "throttled 500ms"},
		}},
		"429 with a time that has passed counts as without": {story: []moment{
			{0, system{status: 429, header: "0"}, "429"}, {0, ok, "throttled 500ms"},
		}},
		"429 with an absurd time": {story: []moment{
			{0, system{status: 429, header: "2000000000"}, "429"}, {0, ok, "throttled 1h0m0s"}, {time.Hour, ok, "200"},
		}},
		"503 pauses with Retry-After only": {story: []moment{
			{0, system{status: 503}, "503"}, {0, system{status: 503, header: "3"}, "503"}, {0, ok, "throttled 3s"}, {3 * s, ok, "200"},
		}},
		"401 pauses twice as long each time, one trial call closes the circuit": {story: []moment{
			{0, unknown, "401"}, {0, ok, "refused 10s"}, {10 * s, unknown, "401"}, {0, ok, "refused 20s"},
			{20 * s, unknown, "401"}, {40 * s, unknown, "401"}, {80 * s, unknown, "401"}, {160 * s, unknown, "401"},
			{0, ok, "refused 5m0s"}, {300 * s, ok, "200"}, {0, unknown, "401"}, {0, ok, "refused 10s"},
		}},
		"neither an error nor a 429 means that the credentials are accepted": {story: []moment{
			{0, unknown, "401"}, {10 * s, system{status: 500}, "500"}, {0, ok, "refused 10s"},
			{10 * s, system{status: 429, header: "30"}, "429"}, {0, ok, "refused 30s"},
			{30 * s, dead, "error"}, {0, ok, "refused 1s"}, {s, ok, "200"}, {0, ok, "200"},
		}},
		"403 concerns one resource": {story: []moment{{0, system{status: 403}, "403"}, {0, ok, "200"}}},
		"403 concerns the credentials if configured so": {
			config: limits.Config{ForbiddenIsRefusal: true},
			story:  []moment{{0, system{status: 403}, "403"}, {0, ok, "refused 10s"}},
		},
		"five calls without response open the circuit, one trial call closes it": {story: []moment{
			{0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"}, {0, dead, "error"}, {0, ok, "200"},
			{0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"},
			{0, ok, "unreachable 1s"}, {s, dead, "error"}, {0, ok, "unreachable 2s"}, {2 * s, dead, "error"}, {4 * s, dead, "error"},
			{8 * s, dead, "error"}, {16 * s, dead, "error"}, {0, ok, "unreachable 30s"}, {30 * s, system{status: 502}, "502"}, {0, ok, "200"},
		}},
		"a certificate that is not trusted opens the circuit, too": {story: []moment{
			{0, stranger, "error"}, {0, stranger, "error"}, {0, stranger, "error"}, {0, stranger, "error"}, {0, stranger, "error"},
			{0, ok, "untrusted 1s"}, {s, stranger, "error"}, {0, ok, "untrusted 2s"}, {2 * s, ok, "200"}, {0, ok, "200"},
		}},
		"a canceled call reveals nothing": {story: []moment{
			{0, unknown, "401"}, {10 * s, system{err: context.Canceled}, "error"}, {0, ok, "200"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := limits.NewTestRegistry()
				for i, m := range tc.story {
					time.Sleep(m.after)
					if got := request(t, r, &m.answer, tc.config); got != m.want {
						t.Fatalf("moment %d, %v: got %q, want %q", i, m, got, m.want)
					}
				}
			})
		})
	}
}

// No other call is sent during the trial call, and late results of earlier calls do not count.
func TestBreakerUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{})
		answer := func(after time.Duration, err error) {
			go func() { _ = l.Do(t.Context(), func(context.Context) error { time.Sleep(after); return err }) }()
		}
		answer(time.Second, fmt.Errorf("login: %w", limits.ErrRefused))
		answer(2*time.Second, limits.ErrRefused)
		answer(2*time.Second, nil)
		time.Sleep(3 * time.Second)
		if err := l.Do(t.Context(), nothing); wait(t, err) != 8*time.Second {
			t.Errorf("calls that began before the refusal changed it: %v", wait(t, err))
		}
		time.Sleep(8 * time.Second)
		answer(5*time.Second, nil)
		synctest.Wait()
		for range 3 {
			if err := l.Do(t.Context(), nothing); failure.Of(err).Reason != failure.ExternalSystemRefused {
				t.Errorf("a second trial call: %v", err)
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Errorf("after a success: %v", err)
		}
	})
}

// A call that is refused a connection opens the circuit alone, unless its caller gave up. Its error keeps its text and class.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, dead := newLimiter(limits.Config{}), fmt.Errorf("login: %w", syscall.ECONNREFUSED)
		for _, err := range []error{context.Canceled, dead} {
			if got := l.Do(t.Context(), func(context.Context) error { return limits.Unreachable(err) }); got.Error() != err.Error() || !errors.Is(got, err) {
				t.Errorf("got %v", got)
			}
		}
		if err := l.Do(t.Context(), nothing); failure.Of(err).Reason != failure.ExternalSystemUnreachable || wait(t, err) != time.Second {
			t.Errorf("got %v", err)
		}
	})
}

// Of several calls after a pause the first may be served, and the next throttled for longer and longer.
func TestSlowDownAmongSuccesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{})
		for i, err := range []error{nil, later(time.Second), later(5 * time.Second), nil} {
			go func() {
				_ = l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Duration(i) * time.Millisecond); return err })
			}()
		}
		time.Sleep(3 * time.Millisecond)
		synctest.Wait()
		if err := l.Do(t.Context(), nothing); wait(t, err) != 5*time.Second-time.Millisecond {
			t.Errorf("got %v", wait(t, err))
		}
	})
}

type later time.Duration

func (l later) Error() string             { return "later" }
func (l later) RetryAfter() time.Duration { return time.Duration(l) }

// Calls that are not sent during a pause are retried one after the other.
func TestPauseSpreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{CallsPerSecond: 10})
		_ = l.Do(t.Context(), func(context.Context) error { return later(time.Minute) })
		waits := map[time.Duration]bool{}
		for range 100 {
			waits[wait(t, l.Do(t.Context(), nothing))] = true
		}
		if len(waits) != 100 || !waits[time.Minute] || !waits[time.Minute+99*100*time.Millisecond] {
			t.Errorf("times to retry: %v", waits)
		}
		for range 10_000 {
			if got := wait(t, l.Do(t.Context(), nothing)); got > 2*time.Minute {
				t.Fatalf("callers that do not wait delay others by %v", got)
			}
		}
	})
}

// Changes of health are reported, and whether a fault began or ended.
func TestOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var faults []bool
		r := limits.NewTestRegistry()
		r.OnChange = func(_ limits.Key, fault bool) { faults = append(faults, fault) }
		l := r.For(key, limits.Version{}, limits.Config{})
		refused := func(context.Context) error { return limits.ErrRefused }
		for _, call := range []func(context.Context) error{nothing, nothing, refused, refused, nothing, nothing} {
			_ = l.Do(t.Context(), call)
			time.Sleep(time.Minute)
		}
		if diff := cmp.Diff([]bool{false, true, true}, faults); diff != "" {
			t.Errorf("the first answer, a fault that begins and its end (N12) -want +got:\n%s", diff)
		}
	})
}
