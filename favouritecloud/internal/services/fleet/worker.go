// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// firstRetry is the pause after the first failure; it doubles with each further one.
const firstRetry = 250 * time.Millisecond

// worker brings one instance to its desired state. Only run and its callees use the fields after the blank line.
type worker[R any, P store.Record[R]] struct {
	fleet     *Fleet[R, P]
	id        int
	wake      chan struct{}
	alive     context.Context // ends when the instance is to be deleted
	interrupt context.CancelFunc

	log       *slog.Logger
	server    Server[R]
	goodSince time.Time // when the server last became ready; zero while it is not
	failures  int       // reset when the server was ready for RetryInterval
}

func newWorker[R any, P store.Record[R]](f *Fleet[R, P], id int, life context.Context) *worker[R, P] {
	w := &worker[R, P]{fleet: f, id: id, wake: make(chan struct{}, 1), log: f.Log.With("id", id), server: f.server(id)}
	w.alive, w.interrupt = context.WithCancel(life)
	return w
}

// notify requests another pass.
func (w *worker[R, P]) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // A pass is requested already.
	}
}

// run makes passes until the instance is deleted or ctx ends; then it stops the server.
func (w *worker[R, P]) run(ctx context.Context) {
	defer w.interrupt()
	for {
		retry, deleted := w.pass(ctx)
		if deleted {
			return
		}
		if !w.wait(ctx, retry) {
			w.shutDown(ctx)
			return
		}
	}
}

// wait returns true when it is time for another pass: after the pause (0: unlimited), when one is requested, or when the server
// has ended. It returns false when ctx has ended.
func (w *worker[R, P]) wait(ctx context.Context, pause time.Duration) bool {
	var retry <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-w.server.Exited():
	case <-retry:
	}
	return ctx.Err() == nil
}

// pass compares the record and the server, and acts. It returns the pause until the next pass, 0 if none is needed until
// something changes.
func (w *worker[R, P]) pass(ctx context.Context) (retry time.Duration, deleted bool) {
	if !w.goodSince.IsZero() && time.Since(w.goodSince) > w.fleet.RetryInterval {
		w.failures = 0 // If a server that ran for long ends, it is restarted without a pause.
	}
	record, err := w.fleet.records.Get(w.id)
	switch i := P(&record).Common(); {
	case errors.Is(err, store.ErrNotFound):
		return 0, true
	case err == nil && i.Status == sdk.StatusDeleting:
		if err = w.remove(ctx); err == nil {
			return 0, true
		}
	case err == nil:
		err = w.provide(w.alive, record, i)
		if w.alive.Err() != nil {
			return firstRetry, false // Interrupted by a deletion.
		}
	}
	if err != nil && ctx.Err() == nil {
		return w.failed(err), false
	}
	return 0, false
}

func (w *worker[R, P]) provide(ctx context.Context, record R, i *store.Instance) error {
	seen, err := w.server.Provide(ctx, record)
	if err != nil {
		return err
	}
	if w.goodSince.IsZero() {
		w.goodSince = time.Now()
	}
	return w.announce(i.Generation, seen)
}

// announce records that the server is ready, unless the desired state has changed in the meantime: then another pass follows.
func (w *worker[R, P]) announce(generation int, seen Seen) error {
	changed := false
	record, err := w.fleet.records.Update(w.id, func(r *R) error {
		i := P(r).Common()
		if i.Status == sdk.StatusDeleting || i.Generation != generation {
			return errUnchanged
		}
		changed = i.Status != sdk.StatusOnline || i.Message != "" || i.Version != seen.Version || i.Port != seen.Port
		i.Status, i.Message, i.Version, i.Port = sdk.StatusOnline, "", seen.Version, seen.Port
		return unlessChanged(changed)
	})
	if err != nil && !errors.Is(err, errUnchanged) && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording instance: %w", err)
	}
	if changed {
		w.log.Info("instance online", "instance", P(&record).Common().Name, "port", seen.Port)
	}
	return nil
}

// remove ends the server, deletes the data and then the record, in this order: as long as anything is left, the status is
// DELETING, also after a restart of the cloud.
func (w *worker[R, P]) remove(ctx context.Context) error {
	if err := w.server.Remove(ctx); err != nil {
		return err
	}
	if err := w.fleet.records.Delete(w.id); err != nil {
		return fmt.Errorf("deleting record: %w", err)
	}
	w.log.Info("instance deleted")
	return nil
}

// failed records why a pass failed and returns the pause before the next one.
func (w *worker[R, P]) failed(cause error) time.Duration {
	w.goodSince = time.Time{}
	w.failures++
	pause := w.fleet.RetryInterval
	if shift := w.failures - 1; shift < 16 {
		pause = min(pause, firstRetry<<shift)
	}
	changed := false
	_, err := w.fleet.records.Update(w.id, func(r *R) error {
		i := P(r).Common()
		status, message := i.Status, i.Message
		if i.Message = cause.Error(); i.Status != sdk.StatusDeleting {
			i.Status = sdk.StatusFailed
		}
		changed = i.Status != status || i.Message != message
		return unlessChanged(changed)
	})
	if err != nil && !errors.Is(err, errUnchanged) && !errors.Is(err, store.ErrNotFound) {
		cause = errors.Join(cause, err)
	}
	if changed {
		w.log.Error("instance failed; retrying", "error", cause)
	}
	return pause
}

// shutDown stops the server, though ctx has ended, and keeps its data.
func (w *worker[R, P]) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := w.server.Stop(ctx); err != nil {
		w.log.Error("stopping server", "error", err)
	}
}

// errUnchanged keeps a transaction that would change nothing from being written.
var errUnchanged = errors.New("unchanged")

func unlessChanged(changed bool) error {
	if changed {
		return nil
	}
	return errUnchanged
}
