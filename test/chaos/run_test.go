// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/plane"
)

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

// A run is a plane that is killed at random moments.
type run struct {
	t      *testing.T
	p      *plane.Plane
	random *rand.Rand

	begin, reported time.Time
}

// newRun starts a plane. BOWLINE_SEED repeats a run.
func newRun(t *testing.T, args ...string) run {
	t.Helper()
	r := run{t: t, p: plane.New(t, args...), random: plane.Random(t), begin: time.Now()}
	r.p.Up(t)
	return r
}

func (r *run) do(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// logf prints a line with the time since the beginning.
func (r *run) logf(format string, args ...any) {
	fmt.Fprintf(r.t.Output(), "%6.1f s  %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// progress logs what state returns, at most every five seconds.
func (r *run) progress(state func() string) {
	if time.Since(r.reported) > 5*time.Second {
		r.reported = time.Now()
		r.logf("%s", state())
	}
}

// pause waits a second before a check that lists all objects.
func pause(ctx context.Context) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// insist repeats a request until it succeeds: the API server may be down.
func (r *run) insist(request func(context.Context) error, done func(error) bool) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), settleTime)
	defer cancel()
	return testkit.Poll(ctx, func() error {
		if err := request(ctx); err != nil && !done(err) {
			return err
		}
		return nil
	})
}

// each does something with all objects, many at a time.
func each[T any](all []T, do func(T) error) error {
	var workers sync.WaitGroup
	failed := make([]error, creators)
	for w := range creators {
		workers.Go(func() {
			for i := w; i < len(all); i += creators {
				failed[w] = errors.Join(failed[w], do(all[i]))
			}
		})
	}
	workers.Wait()
	return errors.Join(failed...)
}
