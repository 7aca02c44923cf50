// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
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

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// A system answers as the test last said.
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

// request is one request through the limiter of the key: the status of its answer, or "throttled 1s" and the like.
func request(t *testing.T, r *limits.Registry, s *system, c limits.Config) string {
	t.Helper()
	sent := &body{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cloud", sent)
	if err != nil {
		t.Fatal(err)
	}
	before := s.calls
	resp, err := r.For(key, c).Transport(s).RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		return fmt.Sprint(resp.StatusCode)
	}
	var throttled *limits.Throttled
	var unauthenticated *limits.Unauthenticated
	word := "error"
	if errors.As(err, &throttled) {
		word = "throttled"
	}
	if errors.As(err, &unauthenticated) {
		word = "unauthenticated"
	}
	if word == "error" {
		return word
	}
	if s.calls != before || !sent.closed {
		t.Errorf("a request that was refused was sent, or its body left open")
	}
	return fmt.Sprint(word, " ", wait(t, err))
}

// A moment of a story: after some time the system answers so, and a request comes to that.
type moment struct {
	after time.Duration
	say   system
	want  string
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	refusing := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	ok, unknown, tooMany := system{status: 200}, system{status: 401}, system{status: 429}
	dead, slow := system{err: refusing}, system{err: context.DeadlineExceeded}
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
		"429 without a time pauses longer each time, and a success forgets": {story: []moment{
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
		"401 cools off twice as long each time, one call tries, success closes": {story: []moment{
			{0, unknown, "401"}, {0, ok, "unauthenticated 10s"}, {10 * s, unknown, "401"}, {0, ok, "unauthenticated 20s"},
			{20 * s, unknown, "401"}, {40 * s, unknown, "401"}, {80 * s, unknown, "401"}, {160 * s, unknown, "401"},
			{0, ok, "unauthenticated 5m0s"}, {300 * s, ok, "200"}, {0, unknown, "401"}, {0, ok, "unauthenticated 10s"},
		}},
		"trouble or a pause is no sign that credentials are accepted": {story: []moment{
			{0, unknown, "401"}, {10 * s, system{status: 500}, "500"}, {0, ok, "unauthenticated 10s"},
			{10 * s, system{status: 429, header: "30"}, "429"}, {0, ok, "unauthenticated 30s"},
			{30 * s, dead, "error"}, {0, ok, "unauthenticated 1s"}, {s, ok, "200"}, {0, ok, "200"},
		}},
		"403 is about one resource": {story: []moment{{0, system{status: 403}, "403"}, {0, ok, "200"}}},
		"403 is about credentials where the provider says so": {
			config: limits.Config{ForbiddenIsRefusal: true},
			story:  []moment{{0, system{status: 403}, "403"}, {0, ok, "unauthenticated 10s"}},
		},
		"the fifth silence in a row opens, one call tries": {story: []moment{
			{0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"}, {0, dead, "error"}, {0, ok, "200"},
			{0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"}, {0, slow, "error"}, {0, dead, "error"},
			{0, ok, "throttled 1s"}, {s, dead, "error"}, {0, ok, "throttled 2s"}, {2 * s, dead, "error"}, {4 * s, dead, "error"},
			{8 * s, dead, "error"}, {16 * s, dead, "error"}, {0, ok, "throttled 30s"}, {30 * s, system{status: 502}, "502"}, {0, ok, "200"},
		}},
		"a caller who gives up says nothing": {story: []moment{
			{0, unknown, "401"}, {10 * s, system{err: context.Canceled}, "error"}, {0, ok, "200"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry()
				for i, m := range tc.story {
					time.Sleep(m.after)
					if got := request(t, r, &m.say, tc.config); got != m.want {
						t.Fatalf("moment %d, %v: got %q, want %q", i, m, got, m.want)
					}
				}
			})
		})
	}
}

// While one call tries, all others are refused; and a failure that was heard of late does not count twice.
func TestBreakerUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		l := r.For(key, limits.Config{})
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
			err := l.Do(t.Context(), nothing)
			var refused *limits.Unauthenticated
			if !errors.As(err, &refused) {
				t.Errorf("a second call tries while the first does: %v", err)
			}
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Errorf("after a success: %v", err)
		}
	})
}

// The first of several calls after a pause may be served and the next be asked to slow down, for longer and longer.
func TestSlowDownAmongSuccesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newRegistry().For(key, limits.Config{})
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

// A changed Secret is tried at once, and a refusal of the old one that comes late does not count.
func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		l := r.For(key, limits.Config{})
		go func() {
			_ = l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Second); return limits.ErrRefused })
		}()
		synctest.Wait()
		_ = l.Do(t.Context(), func(context.Context) error { return limits.ErrRefused })
		if err := l.Do(t.Context(), nothing); err == nil {
			t.Fatal("refused credentials are tried again")
		}
		r.Reset(key)
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Errorf("after Reset: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Errorf("a late word about the old credentials: %v", err)
		}
	})
}

// All who are refused during a pause come back one after the other.
func TestPauseSpreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newRegistry().For(key, limits.Config{CallsPerSecond: 10})
		_ = l.Do(t.Context(), func(context.Context) error { return later(time.Minute) })
		waits := map[time.Duration]bool{}
		for range 100 {
			waits[wait(t, l.Do(t.Context(), nothing))] = true
		}
		if len(waits) != 100 || !waits[time.Minute] || !waits[time.Minute+99*100*time.Millisecond] {
			t.Errorf("times to come back: %v", waits)
		}
		for range 10_000 {
			if got := wait(t, l.Do(t.Context(), nothing)); got > 2*time.Minute {
				t.Fatalf("callers who do not wait put others off by %v", got)
			}
		}
	})
}
