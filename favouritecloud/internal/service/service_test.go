// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// idle is a Driver whose server never runs.
type idle struct{}

func (idle) Backup(context.Context, Record[int], string) error { return nil }

func (idle) Opens(context.Context, Record[int], string) (bool, error) { return false, host.ErrEnded }

func (idle) Find(context.Context, Record[int]) (*host.Server, error) { return nil, host.ErrEnded }
func (idle) Fits(*host.Server, Record[int]) bool                     { return true }
func (idle) Prepare(context.Context, Record[int], []host.Program) (func(int) (*host.Server, error), error) {
	return nil, errors.New("no luck")
}
func (idle) AwaitReady(context.Context, *host.Server, Record[int]) error     { return nil }
func (idle) Settle(context.Context, *host.Server, Record[int]) (Seen, error) { return Seen{}, nil }

// newTestWorker returns a worker of a new record in the given state. It is not started.
func newTestWorker(t *testing.T, status string) *worker[int] {
	t.Helper()
	state, err := store.Open(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	env := Environment{Store: state, Folder: t.TempDir(), RetryInterval: 10 * time.Second, Account: host.Account{UID: os.Geteuid(), GID: os.Getegid()}, Log: slog.New(slog.DiscardHandler)}
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

// A copy that would fill the disk is refused before it begins, and not repeated.
func TestBackupLeavesSpace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		free  int64
		saved bool
	}{
		"enough":         {copyReserve + 100, true},
		"not the copy":   {copyReserve + 99, false},
		"nearly nothing": {7 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestWorker(t, sdk.StatusOnline)
			w.fleet.free = func(string) (int64, error) { return tc.free, nil }
			data := w.folder.Data()
			if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "table"), make([]byte, 100), 0o600)); err != nil {
				t.Fatal(err)
			}
			saved := false
			err := w.fleet.Backup(t.Context(), nil, func(string, string) error {
				saved = true
				return nil
			}, func(string) error { return nil })
			if saved != tc.saved || errors.Is(err, unix.ENOSPC) == tc.saved {
				t.Errorf("saved: %t, error %v", saved, err)
			}
			if left, err := os.ReadDir(filepath.Dir(data)); err != nil || len(left) != 1 {
				t.Errorf("the folder has %v, %v", left, err)
			}
		})
	}
}

// A full disk is a failure of servers that have not noticed it yet.
func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, sdk.StatusOnline)
	self, err := host.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	w.server, w.goodSince = w.folder.Adopt(self, nil), time.Now()
	defer w.forget()
	for _, step := range []struct {
		free int64
		want string
	}{{diskFull, sdk.StatusOnline}, {diskFull - 1, sdk.StatusFailed}, {diskFull, sdk.StatusOnline}} {
		w.fleet.free = func(string) (int64, error) { return step.free, nil }
		w.pass(t.Context())
		r, err := w.fleet.get("p", "a")
		if failed := strings.Contains(r.Message, "disk of the servers is full"); r.Status != step.want || failed != (step.want == sdk.StatusFailed) || err != nil {
			t.Errorf("%d bytes are free: %s %q, %v", step.free, r.Status, r.Message, err)
		}
	}
}

func TestFailedInstancesAreReported(t *testing.T) {
	t.Parallel()
	w := newTestWorker(t, sdk.StatusOnline)
	if err := w.fleet.Failed(nil); err != nil {
		t.Errorf("an instance that is online: %v", err)
	}
	w.failed(errors.New("no luck"))
	const want = `thing "a" of project "p" is FAILED: no luck: repair or delete it, or back up without it by --skip thing/p/a`
	if err := w.fleet.Failed([]string{"thing/p/a"}); err != nil {
		t.Errorf("an instance to skip: %v", err)
	}
	if err := w.fleet.Failed(nil); err == nil || err.Error() != want {
		t.Errorf("an instance that is down: %v, want %s", err, want)
	}
}

func TestChecksOfManyServersAreRare(t *testing.T) {
	t.Parallel()
	for servers, want := range map[int]time.Duration{1: 5 * time.Second, 50: 5 * time.Second, 200: 20 * time.Second} {
		w := newTestWorker(t, sdk.StatusOnline)
		for id := range servers {
			w.fleet.workers[id] = w
		}
		if got := w.fleet.checkInterval(); got != want || jitter(got) < got/2 {
			t.Errorf("%d servers: every %s", servers, got)
		}
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
