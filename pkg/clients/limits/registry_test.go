// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

func TestForget(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	l := r.For(key, limits.Config{})
	if err := l.Do(t.Context(), func(context.Context) error { return limits.ErrRefused }); !errors.Is(err, limits.ErrRefused) {
		t.Fatal(err)
	}
	if s := r.Stats(key); !s.Open || s.Calls != 1 {
		t.Errorf("figures %+v", s)
	}
	r.Forget(key)
	r.Reset(key)
	if diff := cmp.Diff(limits.Stats{}, r.Stats(key)); diff != "" {
		t.Errorf("what is known after Forget -want +got:\n%s", diff)
	}
	if err := r.For(key, limits.Config{}).Do(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

// A key is forgotten while one of its calls is under way and another waits for its turn: both end as if nothing had
// happened, and what they hear does not concern who asks for the key afterwards.
func TestForgetDuringCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		before := r.For(key, limits.Config{InFlight: 1})
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
		r.Forget(key)
		after := r.For(key, limits.Config{InFlight: 1})
		if after == before {
			t.Error("a forgotten key has its old limiter")
		}
		callers.Wait()
		if err := errors.Join(ends...); err != nil {
			t.Errorf("calls under way: %v", err)
		}
		if s := r.Stats(key); s.Calls != 0 {
			t.Errorf("%d calls were counted of another limiter", s.Calls)
		}
		if err := before.Do(t.Context(), func(context.Context) error { return limits.ErrRefused }); !errors.Is(err, limits.ErrRefused) {
			t.Error(err)
		}
		if err := after.Do(t.Context(), nothing); err != nil {
			t.Errorf("what a caller of the old limiter heard: %v", err)
		}
	})
}

// Whoever likes may forget and reset a key at any time.
func TestForgetAtAnyTime(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for range 500 {
				err := r.For(key, limits.Config{InFlight: 1 + i%3, CallsPerSecond: 1e6}).Do(t.Context(), nothing)
				if err != nil {
					t.Error(err)
				}
				r.Forget(key)
				r.Reset(key)
				r.Stats(key)
			}
		})
	}
	callers.Wait()
}

// Keys that nobody uses are forgotten by themselves, those in use are not.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		named := func(name string) limits.Key { return limits.Key{Kind: "ProviderConfig", Name: name} }
		asked, held, busy := named("asked"), named("held"), named("busy")
		used := func(k limits.Key) bool { return r.Stats(k).Calls > 0 }
		for i := range 100 {
			if err := r.For(named(fmt.Sprint(i)), limits.Config{}).Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.For(asked, limits.Config{}).Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		holder := r.For(held, limits.Config{})
		var caller sync.WaitGroup
		caller.Go(func() {
			_ = r.For(busy, limits.Config{}).Do(t.Context(), func(context.Context) error { time.Sleep(4 * time.Hour); return nil })
		})
		for range 3 { // every object is looked at each hour
			time.Sleep(time.Hour)
			r.For(asked, limits.Config{})
			if err := holder.Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		left := 0
		for i := range 100 {
			if used(named(fmt.Sprint(i))) {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%d of 100 keys that nobody used for three hours are known", left)
		}
		if !used(asked) || !used(held) || !used(busy) {
			t.Errorf("known: one that is asked for %t, one whose limiter is used %t, one with a call under way %t",
				used(asked), used(held), used(busy))
		}
		caller.Wait()
	})
}
