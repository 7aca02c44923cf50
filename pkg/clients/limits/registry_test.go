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

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

func TestForget(t *testing.T) {
	t.Parallel()
	r := limits.NewTestRegistry()
	l := r.For(key, limits.Config{})
	if err := l.Do(t.Context(), func(context.Context) error { return limits.ErrRefused }); !errors.Is(err, limits.ErrRefused) {
		t.Fatal(err)
	}
	if err := l.Do(t.Context(), nothing); failure.Of(err).Reason != failure.ExternalSystemRefused {
		t.Errorf("before Forget: %v", err)
	}
	r.Forget(key)
	r.Reset(key)
	if r.Holds(key) {
		t.Error("the limiter is still there")
	}
	if err := r.For(key, limits.Config{}).Do(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

// A key is forgotten while one call is in flight and another waits: both complete, and their results do not affect the new
// limiter of the key.
func TestForgetDuringCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := limits.NewTestRegistry()
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
		if err := before.Do(t.Context(), func(context.Context) error { return limits.ErrRefused }); !errors.Is(err, limits.ErrRefused) {
			t.Error(err)
		}
		if err := after.Do(t.Context(), nothing); err != nil {
			t.Errorf("what a caller of the old limiter heard: %v", err)
		}
	})
}

// Forget and Reset are safe at any time.
func TestForgetAtAnyTime(t *testing.T) {
	t.Parallel()
	r := limits.NewTestRegistry()
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
			}
		})
	}
	callers.Wait()
}

// Unused keys are forgotten, those in use are not.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := limits.NewTestRegistry()
		named := func(name string) limits.Key { return limits.Key{Kind: "ProviderConfig", Name: name} }
		requested, used, busy := named("requested"), named("used"), named("busy")
		for i := range 100 {
			if err := r.For(named(fmt.Sprint(i)), limits.Config{}).Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.For(requested, limits.Config{}).Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		holder := r.For(used, limits.Config{})
		var caller sync.WaitGroup
		caller.Go(func() {
			_ = r.For(busy, limits.Config{}).Do(t.Context(), func(context.Context) error { time.Sleep(4 * time.Hour); return nil })
		})
		for range 3 { // every object is polled each hour
			time.Sleep(time.Hour)
			r.For(requested, limits.Config{})
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
