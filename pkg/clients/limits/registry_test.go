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
)

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
