// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// idle is a Driver whose server never runs.
type idle struct{}

func (idle) Find(context.Context, Record[int]) (*host.Server, error) { return nil, host.ErrEnded }
func (idle) Fits(*host.Server, Record[int]) bool                     { return true }
func (idle) Prepare(context.Context, Record[int], []host.Program) (func(int) (*host.Server, error), error) {
	return nil, errors.New("no luck")
}
func (idle) Settle(context.Context, *host.Server, Record[int]) (Seen, error) { return Seen{}, nil }

// newTestWorker returns a worker of a new record in the given state. It is not started.
func newTestWorker(t *testing.T, status string) *worker[int] {
	t.Helper()
	state, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	env := Environment{Store: state, Folder: t.TempDir(), RetryInterval: 10 * time.Second, Log: slog.New(slog.DiscardHandler)}
	s := New(env, Kind[int, int, int]{
		Noun: "thing", Show: func(r Record[int]) any { return r.ID },
		New:     func(int) (Record[int], error) { return Record[int]{Name: "a"}, nil },
		Servers: &Servers[int]{Prefix: "thing-", NewDriver: func(Site[int]) Driver[int] { return idle{} }},
	})
	if created, err := s.Create(t.Context(), "p", "", func(any) error { return nil }); err != nil || string(created.Body) != "1" {
		t.Fatalf("answer %s, error %v", created.Body, err)
	}
	r, err := s.edit("p", "a", anyID, func(r *Record[int]) error {
		r.Status = status
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return newWorker(s.fleet, r, context.Background())
}

func TestPausesGrowToTheRetryInterval(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, sdk.StatusCreating)
	var pauses []time.Duration
	for range 8 {
		pauses = append(pauses, w.failed(errors.New("no luck")))
	}
	w.failures = 1 << 20
	pauses = append(pauses, w.failed(errors.New("no luck")))
	const ms = time.Millisecond
	want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 10000 * ms, 10000 * ms, 10000 * ms}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	type state struct{ Status, Message string }
	const restarted = "the cloud was restarted; restarting the server"
	cases := map[string]struct {
		status            string
		failed, recovered state
	}{
		"created":   {sdk.StatusCreating, state{sdk.StatusFailed, "no luck"}, state{sdk.StatusCreating, ""}},
		"online":    {sdk.StatusOnline, state{sdk.StatusFailed, "no luck"}, state{sdk.StatusFailed, restarted}},
		"updated":   {sdk.StatusUpdating, state{sdk.StatusFailed, "no luck"}, state{sdk.StatusUpdating, ""}},
		"deletions": {sdk.StatusDeleting, state{sdk.StatusDeleting, "no luck"}, state{sdk.StatusDeleting, ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := func(do func(w *worker[int]) error) state {
				w := newTestWorker(t, tc.status)
				err := do(w)
				r, getErr := w.fleet.get(w.project, w.name)
				if err := errors.Join(err, getErr); err != nil {
					t.Error(err)
				}
				return state{r.Status, r.Message}
			}
			got := [2]state{
				after(func(w *worker[int]) error {
					w.failed(errors.New("no luck"))
					return nil
				}),
				after(func(w *worker[int]) error { return w.fleet.Recover(t.Context()) }),
			}
			if diff := cmp.Diff([2]state{tc.failed, tc.recovered}, got); diff != "" {
				t.Errorf("after a failure and after a restart of the cloud, -want +got:\n%s", diff)
			}
		})
	}
}

// A worker must not touch the next record of the same name.
func TestWorkerOfDeletedRecordEnds(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, sdk.StatusOnline)
	w.id++
	if _, deleted := w.pass(t.Context()); !deleted {
		t.Error("the worker continues")
	}
	w.failed(errors.New("no luck"))
	if r, err := w.fleet.get("p", "a"); err != nil || r.Status != sdk.StatusOnline {
		t.Errorf("the other record became %s, error %v", r.Status, err)
	}
}
