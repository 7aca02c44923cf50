// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

var key = limits.Key{Kind: "ProviderConfig", Name: "default"}

func newRegistry() *limits.Registry {
	return limits.NewRegistry(limits.WithRandom(func() float64 { return 0 }))
}

// wait returns how long an error asks to wait, and fails the test if it does not.
func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	var later interface{ RetryAfter() time.Duration }
	if !errors.As(err, &later) {
		t.Fatalf("an error that says when to come back is wanted, not %v", err)
	}
	return later.RetryAfter()
}

func nothing(context.Context) error { return nil }

// Twenty callers at once share ten calls per second: five go through at once, ten within the patience of a second, and
// each of the others is told a time of its own.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newRegistry().For(key, limits.Config{CallsPerSecond: 10, Burst: 5})
		began := time.Now()
		var mu sync.Mutex
		made, waits := map[time.Duration]int{}, map[time.Duration]bool{}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				err := l.Do(t.Context(), nothing)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made[time.Since(began)]++
					return
				}
				waits[wait(t, err)] = true
			})
		}
		callers.Wait()
		if made[0] != 5 || len(made) != 11 || time.Since(began) != time.Second {
			t.Errorf("calls were made at %v, the last after %v", made, time.Since(began))
		}
		want := map[time.Duration]bool{}
		for i := range 5 {
			want[1100*time.Millisecond+time.Duration(i)*100*time.Millisecond] = true
		}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Errorf("times to come back -want +got:\n%s", diff)
		}
	})
}

// Callers who come back when they were told find their turn: all are served, at the full rate.
func TestRateServesEverybodyWhoComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		l := r.For(key, limits.Config{CallsPerSecond: 20, Burst: 1})
		began := time.Now()
		var callers sync.WaitGroup
		for range 400 {
			callers.Go(func() {
				for {
					err := l.Do(t.Context(), nothing)
					if err == nil {
						return
					}
					time.Sleep(wait(t, err))
				}
			})
		}
		callers.Wait()
		if took := time.Since(began); took > 24*time.Second {
			t.Errorf("400 calls at 20 per second took %v", took)
		}
		if s := r.Stats(key); s.Calls != 400 || s.Throttled > 800 {
			t.Errorf("%d calls were made and %d refused", s.Calls, s.Throttled)
		}
	})
}

func TestRateCounterCases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		c := limits.FromSpec(&xpv1.CallLimits{CallsPerSecond: new(int32(1))})
		l := r.For(key, c)
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := l.Do(short, nothing); wait(t, err) != time.Second || time.Since(began) != 0 {
			t.Errorf("a caller without the time to wait got %v after %v", err, time.Since(began))
		}
		gone, leave := context.WithCancel(t.Context())
		go leave()
		if err := l.Do(gone, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who leaves got %v", err)
		}
		if err := l.Do(t.Context(), nothing); err != nil || time.Since(began) != time.Second {
			t.Errorf("the turn of those who left was not given on: %v after %v", err, time.Since(began))
		}
		if err := r.For(limits.Key{Kind: "ProviderConfig", Name: "other"}, c).Do(t.Context(), nothing); err != nil {
			t.Errorf("another ProviderConfig: %v", err)
		}
		if r.For(key, limits.Config{}) != l {
			t.Error("one key has two limiters")
		}
		for range 100 {
			if err := l.Do(t.Context(), nothing); err != nil {
				t.Fatalf("a limit that was lifted: %v", err)
			}
		}
	})
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		l := r.For(key, limits.Config{InFlight: 2})
		var now, most, refused atomic.Int32
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				err := l.Do(t.Context(), func(context.Context) error {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(400 * time.Millisecond)
					now.Add(-1)
					return nil
				})
				if err != nil {
					wait(t, err)
					refused.Add(1)
				}
			})
		}
		callers.Wait()
		if most.Load() != 2 || refused.Load() != 2 {
			t.Errorf("%d calls were in flight at the same time and %d of 8 refused, of 2 slots for 400ms", most.Load(), refused.Load())
		}
		began := time.Now()
		for range 2 {
			go func() {
				defer func() { _ = recover() }()
				_ = l.Do(t.Context(), func(context.Context) error { panic("a client's bug") })
			}()
		}
		synctest.Wait()
		if err := l.Do(t.Context(), nothing); err != nil || time.Since(began) != 0 {
			t.Errorf("slots of calls that panicked are lost: %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		for range 2 {
			callers.Go(func() { _ = l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return nil }) })
		}
		synctest.Wait()
		go leave()
		if err := l.Do(gone, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who leaves got %v", err)
		}
		callers.Wait()
	})
}

// The text of a refusal is fit for a condition: it names the ProviderConfig and what to do, and no time.
func TestErrors(t *testing.T) {
	t.Parallel()
	team := limits.Key{Kind: "ProviderConfig", Namespace: "team", Name: "a"}
	for text, err := range map[string]error{
		`calls of ProviderConfig "default" wait: why`: &limits.Throttled{Key: key, Why: "why", After: time.Minute},
		`credentials of ProviderConfig "team/a"`:      &limits.Unauthenticated{Key: team, After: time.Minute},
		`correct what its spec.credentials names`:     &limits.Unauthenticated{Key: team, After: time.Minute},
	} {
		if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "1m") {
			t.Errorf("%q should say %q", err, text)
		}
	}
}

func TestDefaultTransport(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "no-such-scheme://x", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newRegistry().For(key, limits.Config{}).Transport(nil).RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Error("http.DefaultTransport should know no such scheme")
	}
}
