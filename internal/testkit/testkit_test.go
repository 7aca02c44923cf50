// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// A recorder is a test that keeps what is reported to it.
type recorder struct {
	testing.TB
	logged, fatal string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Context() context.Context          { return context.Background() }
func (r *recorder) Logf(format string, args ...any)   { r.logged = fmt.Sprintf(format, args...) }
func (r *recorder) Errorf(format string, args ...any) { r.fatal = fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestEventually(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		after         time.Duration // until the check passes
		logged, fatal string
	}{
		"at once":                     {after: 0},
		"soon":                        {after: time.Second / 2},
		"late: it logs why it waits":  {after: 8 * time.Second, logged: "after 1s still waiting for: water: cold"},
		"never: it reports the cause": {after: time.Hour, logged: "cold", fatal: "waited 50s for: water: cold"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, r := time.Now(), &recorder{TB: t}
				done := make(chan struct{})
				go func() {
					defer close(done)
					testkit.Eventually(r, "water", func() error {
						if time.Since(begin) < tc.after {
							return errors.New("cold")
						}
						return nil
					})
				}()
				<-done
				if !strings.Contains(r.logged, tc.logged) || (r.logged == "") != (tc.logged == "") || r.fatal != tc.fatal {
					t.Errorf("logged %q, failed with %q", r.logged, r.fatal)
				}
			})
		})
	}
}

// The reason is the last one before the time ran out, not that it ran out.
func TestPollReportsTheCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := testkit.Poll(ctx, func() error {
		if calls++; calls == 1 {
			return errors.New("cold")
		}
		cancel()
		return ctx.Err()
	})
	if err == nil || err.Error() != "cold" {
		t.Error(err)
	}
}

// What is fast once is prompt; what is late each time is not.
func TestPromptly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fast   int // the round that is
		rounds int
		failed bool
	}{
		"at once":     {fast: 0, rounds: 1},
		"when it can": {fast: 3, rounds: 4},
		"never":       {fast: 100, rounds: 10, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, rounds := &recorder{TB: t}, 0
			testkit.Promptly(r, time.Second, func(n int) time.Duration {
				rounds++
				if n == tc.fast {
					return time.Second
				}
				return time.Minute
			})
			if rounds != tc.rounds || (r.fatal != "") != tc.failed {
				t.Errorf("%d rounds, failed with %q", rounds, r.fatal)
			}
		})
	}
}

func TestFreeAddressIsOfOneTest(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 500 {
		address := testkit.FreeAddress(t)
		if given[address] {
			t.Fatalf("%s was given twice", address)
		}
		given[address] = true
	}
}
