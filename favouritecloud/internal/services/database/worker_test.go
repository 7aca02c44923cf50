// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// newTestWorker returns a worker of a new instance in the given state. It is not started.
func newTestWorker(t *testing.T, status string) *worker {
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
	record := store.Instance{Project: "p", Name: "a", Status: status, FancinessLevel: 10}
	if _, _, err := state.CreateInstance(&record, func(store.Instance) ([]byte, error) { return []byte("1"), nil }); err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Store: state, Folder: t.TempDir(), RetryInterval: 10 * time.Second, Parallel: 1, Log: slog.New(slog.DiscardHandler),
	})
	return newWorker(s, record.ID, context.Background())
}

func TestPausesGrowToTheRetryInterval(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, api.StatusCreating)
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
		"while being made":   {api.StatusCreating, api.StatusFailed},
		"while it ran":       {api.StatusOnline, api.StatusFailed},
		"while restarting":   {api.StatusUpdating, api.StatusFailed},
		"deletions continue": {api.StatusDeleting, api.StatusDeleting},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestWorker(t, tc.before)
			w.failed(errors.New("no luck"))
			i, err := w.service.Store.Instance(w.id)
			if err != nil || i.Status != tc.after || i.Message != "no luck" {
				t.Errorf("status %s, message %q, error %v", i.Status, i.Message, err)
			}
		})
	}
}

func TestRecoverCallsNothingOnlineThatIsNot(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		api.StatusOnline: api.StatusFailed, api.StatusCreating: api.StatusCreating, api.StatusDeleting: api.StatusDeleting,
	} {
		w := newTestWorker(t, before)
		if err := w.service.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i, err := w.service.Store.Instance(w.id); err != nil || i.Status != after {
			t.Errorf("%s became %s, error %v", before, i.Status, err)
		}
	}
}
