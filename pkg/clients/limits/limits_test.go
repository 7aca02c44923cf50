// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/bowline-dev/bowline/pkg/failure"
)

var key = limits.Key{Kind: "ProviderConfig", Name: "default"}

// wait returns how long an error asks to wait, and fails the test if it does not.
func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	after, ok := failure.RetryAfter(err)
	if !ok {
		t.Fatalf("want an error with a time to retry, got %v", err)
	}
	return after
}

func newLimiter(c limits.Config) *limits.Limiter {
	return limits.NewTestRegistry().For(key, limits.Version{}, c)
}

func nothing(context.Context) error { return nil }

// Twenty callers at once share ten calls per second: five are sent at once, ten within one second, and each of the others gets a
// different time to retry.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{CallsPerSecond: 10, Burst: 5})
		began := time.Now()
		var mu sync.Mutex
		sent, waits := map[time.Duration]int{}, map[time.Duration]bool{}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				err := l.Do(t.Context(), nothing)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					sent[time.Since(began)]++
					return
				}
				waits[wait(t, err)] = true
			})
		}
		callers.Wait()
		if sent[0] != 5 || len(sent) != 11 || time.Since(began) != time.Second {
			t.Errorf("calls were sent at %v, the last after %v", sent, time.Since(began))
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

// Callers that retry at the given time are served: all of them, at the full rate.
func TestRateServesRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{CallsPerSecond: 20, Burst: 1})
		began, notSent := time.Now(), atomic.Int32{}
		var callers sync.WaitGroup
		for range 400 {
			callers.Go(func() {
				for {
					err := l.Do(t.Context(), nothing)
					if err == nil {
						return
					}
					notSent.Add(1)
					time.Sleep(wait(t, err))
				}
			})
		}
		callers.Wait()
		if took := time.Since(began); took > 24*time.Second {
			t.Errorf("400 calls at 20 per second took %v", took)
		}
		if n := notSent.Load(); n > 800 {
			t.Errorf("%d calls were not sent", n)
		}
	})
}

func TestRateEdgeCases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := limits.NewTestRegistry()
		c := limits.FromSpec(&xpv1.CallLimits{CallsPerSecond: new(int32(1))})
		l := r.For(key, limits.Version{}, c)
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := l.Do(short, nothing); wait(t, err) != time.Second || time.Since(began) != 0 {
			t.Errorf("a caller without the time to wait got %v after %v", err, time.Since(began))
		}
		canceled, cancelNow := context.WithCancel(t.Context())
		go cancelNow()
		if err := l.Do(canceled, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled call got %v", err)
		}
		if err := l.Do(t.Context(), nothing); err != nil || time.Since(began) != time.Second {
			t.Errorf("the turn of canceled calls is lost: %v after %v", err, time.Since(began))
		}
		if err := r.For(limits.Key{Kind: "ProviderConfig", Name: "other"}, limits.Version{}, c).Do(t.Context(), nothing); err != nil {
			t.Errorf("another ProviderConfig: %v", err)
		}
	})
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(limits.Config{InFlight: 2})
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
		canceled, cancelNow := context.WithCancel(t.Context())
		for range 2 {
			callers.Go(func() { _ = l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Minute); return nil }) })
		}
		synctest.Wait()
		go cancelNow()
		if err := l.Do(canceled, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled call got %v", err)
		}
		callers.Wait()
	})
}

// The text is fit for a condition: it names the ProviderConfig and what to do, and no time.
func TestErrors(t *testing.T) {
	t.Parallel()
	team := limits.Key{Kind: "ProviderConfig", Namespace: "team", Name: "a"}
	for _, tc := range []struct {
		err   limits.NotSentError
		words []string
	}{
		{limits.NotSentError{Key: key, Why: "why", After: time.Minute}, []string{`ProviderConfig "default"`, "why"}},
		{limits.NotSentError{Key: team, Reason: failure.ExternalSystemRefused, After: time.Minute}, []string{`ProviderConfig "team/a"`, "spec.credentials"}},
	} {
		for _, word := range tc.words {
			if text := tc.err.Error(); !strings.Contains(text, word) || strings.Contains(text, "1m") {
				t.Errorf("%q lacks %q, or contains a time", text, word)
			}
		}
	}
}

func TestDefaultTransport(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "no-such-scheme://x", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newLimiter(limits.Config{}).Transport(nil).RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Error("http.DefaultTransport should know no such scheme")
	}
}

// A ProviderConfig is deleted, or its credentials change, while one call is in flight and another waits: both complete, and neither
// these nor later responses to the old client affect the new limiter.
func TestNewLimiter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		forget  bool
		version limits.Version
		same    bool
	}{
		"same version":    {same: true},
		"another version": {version: limits.Version{1}},
		"forgotten":       {forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := limits.NewTestRegistry()
				before := r.For(key, limits.Version{}, limits.Config{InFlight: 1})
				ends := make([]error, 2)
				var callers sync.WaitGroup
				for i := range ends {
					callers.Go(func() {
						ends[i] = before.Do(t.Context(), func(context.Context) error {
							time.Sleep(100 * time.Millisecond)
							return nil
						})
					})
				}
				synctest.Wait()
				if tc.forget {
					r.Forget(key)
				}
				after := r.For(key, tc.version, limits.Config{})
				callers.Wait()
				if err := errors.Join(ends...); err != nil {
					t.Errorf("calls in flight: %v", err)
				}
				if err := before.Do(t.Context(), func(context.Context) error { return limits.ErrRefused }); !errors.Is(err, limits.ErrRefused) {
					t.Error(err)
				}
				if err := after.Do(t.Context(), nothing); (err != nil) != tc.same || (after == before) != tc.same {
					t.Errorf("after the old limiter was refused: %v", err)
				}
			})
		})
	}
}

// A new version that does not change the limits grants no further calls: a key of the Secret may change every second.
func TestLimitsOfVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, began := limits.NewTestRegistry(), time.Now()
		var most, now atomic.Int32
		var callers sync.WaitGroup
		for i := range 4 {
			l := r.For(key, limits.Version{byte(i)}, limits.Config{CallsPerSecond: 10, Burst: 1, InFlight: 1})
			callers.Go(func() {
				if err := l.Do(t.Context(), func(context.Context) error {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(200 * time.Millisecond)
					now.Add(-1)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if took := time.Since(began); most.Load() != 1 || took != 800*time.Millisecond {
			t.Errorf("%d calls at once, all done after %v", most.Load(), took)
		}
	})
}

// Unused keys are forgotten, those in use are not.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := limits.NewTestRegistry()
		named := func(name string) limits.Key { return limits.Key{Kind: "ProviderConfig", Name: name} }
		requested, used, busy := named("requested"), named("used"), named("busy")
		for i := range 100 {
			if err := r.For(named(fmt.Sprint(i)), limits.Version{}, limits.Config{}).Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.For(requested, limits.Version{}, limits.Config{}).Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		holder := r.For(used, limits.Version{}, limits.Config{})
		var caller sync.WaitGroup
		caller.Go(func() {
			_ = r.For(busy, limits.Version{}, limits.Config{}).Do(t.Context(), func(context.Context) error { time.Sleep(4 * time.Hour); return nil })
		})
		for range 3 { // every object is polled each hour
			time.Sleep(time.Hour)
			r.For(requested, limits.Version{}, limits.Config{})
			if err := holder.Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		left := 0
		for i := range 100 {
			if r.Holds(named(fmt.Sprint(i))) {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%d of 100 keys that were unused for three hours are known", left)
		}
		if !r.Holds(requested) || !r.Holds(used) || !r.Holds(busy) {
			t.Errorf("known: requested %t, used %t, with a call in flight %t",
				r.Holds(requested), r.Holds(used), r.Holds(busy))
		}
		caller.Wait()
	})
}

// A client that does not use HTTP reports the state of the external system by the errors of this package.
func Example() {
	registry := limits.NewRegistry()
	limiter := registry.For(limits.Key{Kind: "ProviderConfig", Name: "default"}, limits.Version{}, limits.Config{CallsPerSecond: 5})

	login := func(context.Context) error { return fmt.Errorf("login as admin: %w", limits.ErrRefused) }
	fmt.Println(limiter.Do(context.Background(), login))

	err := limiter.Do(context.Background(), login) // not made
	fmt.Println(err)

	after, _ := failure.RetryAfter(err)
	fmt.Println(failure.Of(err).Reason, after > 9*time.Second)
	// Output:
	// login as admin: the external system does not accept the credentials
	// the external system refuses the credentials of ProviderConfig "default": correct what its spec.credentials names, or the account or project in its spec
	// ExternalSystemRefused true
}
