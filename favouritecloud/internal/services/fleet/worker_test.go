// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// record is one of a service whose servers do nothing.
type record struct{ store.Instance }

// idle is a Server that never runs.
type idle struct{}

func (idle) Running(context.Context, record) (bool, error) { return false, nil }
func (idle) Provide(context.Context, record) (Seen, error) { return Seen{}, nil }
func (idle) Exited() <-chan struct{}                       { return nil }
func (idle) Stop(context.Context) error                    { return nil }
func (idle) Remove(context.Context) error                  { return nil }

// newTestWorker returns a worker of a new instance in the given state. It is not started.
func newTestWorker(t *testing.T, status string) *worker[record, *record] {
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
	f := New[record](Config[record]{
		Environment: Environment{Store: state, Folder: t.TempDir(), RetryInterval: 10 * time.Second, Log: slog.New(slog.DiscardHandler)},
		Service:     "some",
		NewServer:   func(Site[record]) Server[record] { return idle{} },
	})
	created := record{store.Instance{Project: "p", Name: "a"}}
	if _, _, err := f.Create(created, nil, func(record) ([]byte, error) { return []byte("1"), nil }); err != nil {
		t.Fatal(err)
	}
	const first = 1
	_, err = f.records.Update(first, func(r *record) error {
		r.Status = status
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return newWorker(f, first, context.Background())
}

func TestPausesGrowToTheRetryInterval(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, sdk.StatusCreating)
	var pauses []time.Duration
	for range 8 {
		pauses = append(pauses, w.failed(errors.New("no luck")))
	}
	const ms = time.Millisecond
	want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 10000 * ms, 10000 * ms}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.failures = 1 << 20
	if pause := w.failed(errors.New("no luck")); pause != 10*time.Second {
		t.Errorf("after many failures the pause is %s", pause)
	}
}

func TestFailureIsShown(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ before, after string }{
		"while being created": {sdk.StatusCreating, sdk.StatusFailed},
		"while it ran":        {sdk.StatusOnline, sdk.StatusFailed},
		"while restarting":    {sdk.StatusUpdating, sdk.StatusFailed},
		"deletions continue":  {sdk.StatusDeleting, sdk.StatusDeleting},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestWorker(t, tc.before)
			w.failed(errors.New("no luck"))
			i, err := w.fleet.records.Get(w.id)
			if err != nil || i.Status != tc.after || i.Message != "no luck" {
				t.Errorf("status %s, message %q, error %v", i.Status, i.Message, err)
			}
		})
	}
}

func TestRecoverCallsNothingOnlineThatIsNot(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		sdk.StatusOnline: sdk.StatusFailed, sdk.StatusCreating: sdk.StatusCreating, sdk.StatusDeleting: sdk.StatusDeleting,
	} {
		w := newTestWorker(t, before)
		if err := w.fleet.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i, err := w.fleet.records.Get(w.id); err != nil || i.Status != after {
			t.Errorf("%s became %s, error %v", before, i.Status, err)
		}
	}
}
