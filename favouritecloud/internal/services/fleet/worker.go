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
)

// firstRetry is the pause after the first failure; it doubles with each further one.
const firstRetry = 250 * time.Millisecond

// worker brings one instance to the state that its record asks for. Only run and what it calls touch the fields after
// the blank line.
type worker[R any, P store.Record[R]] struct {
	fleet     *Fleet[R, P]
	id        int
	wake      chan struct{}
	living    context.Context // ends when the instance is to be deleted
	interrupt context.CancelFunc

	log       *slog.Logger
	server    Server[R]
	goodSince time.Time // zero until the server is as it should be
	failures  int       // in a row, or nearly so
}

func newWorker[R any, P store.Record[R]](f *Fleet[R, P], id int, life context.Context) *worker[R, P] {
	w := &worker[R, P]{fleet: f, id: id, wake: make(chan struct{}, 1), log: f.Log.With("id", id), server: f.server(id)}
	w.living, w.interrupt = context.WithCancel(life)
	return w
}

// notify makes the worker look again soon.
func (w *worker[R, P]) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // It will look again anyway.
	}
}

// run works until the instance is gone or ctx ends; then it stops the server.
func (w *worker[R, P]) run(ctx context.Context) {
	defer w.interrupt()
	for {
		retry, gone := w.pass(ctx)
		if gone {
			return
		}
		if !w.wait(ctx, retry) {
			w.shutDown(ctx)
			return
		}
	}
}

// wait returns true when it is time to look again: after the pause (0 is for ever), when somebody asks, or when the
// server has ended. It returns false when ctx has.
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

// pass does what there is to do and says when to look again: 0 is when something changes.
func (w *worker[R, P]) pass(ctx context.Context) (retry time.Duration, gone bool) {
	if !w.goodSince.IsZero() && time.Since(w.goodSince) > w.fleet.RetryInterval {
		w.failures = 0 // The server ran well for long: if it died now, there is no reason to hesitate.
	}
	record, err := w.fleet.records.Get(w.id)
	switch i := P(&record).Common(); {
	case errors.Is(err, store.ErrNotFound):
		return 0, true
	case err == nil && i.Status == StatusDeleting:
		if err = w.remove(ctx); err == nil {
			return 0, true
		}
	case err == nil:
		err = w.provide(w.living, record, i)
		if w.living.Err() != nil {
			return firstRetry, false // Cut short; what it says does not matter any more.
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

// announce records that the server is ready, unless more was asked of it meanwhile: then another pass follows.
func (w *worker[R, P]) announce(generation int, seen Seen) error {
	changed := false
	record, err := w.fleet.records.Update(w.id, func(r *R) error {
		i := P(r).Common()
		if i.Status == StatusDeleting || i.Generation != generation {
			return errUnchanged
		}
		changed = i.Status != StatusOnline || i.Message != "" || i.Version != seen.Version || i.Port != seen.Port
		i.Status, i.Message, i.Version, i.Port = StatusOnline, "", seen.Version, seen.Port
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

// remove ends the server, deletes the data and then forgets the instance, in this order: while anything is left of it
// the record says DELETING, also to the next cloud.
func (w *worker[R, P]) remove(ctx context.Context) error {
	if err := w.server.Remove(ctx); err != nil {
		return err
	}
	if err := w.fleet.records.Forget(w.id); err != nil {
		return fmt.Errorf("forgetting instance: %w", err)
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
		if i.Message = cause.Error(); i.Status != StatusDeleting {
			i.Status = StatusFailed
		}
		changed = i.Status != status || i.Message != message
		return unlessChanged(changed)
	})
	if err != nil && !errors.Is(err, errUnchanged) && !errors.Is(err, store.ErrNotFound) {
		cause = errors.Join(cause, err)
	}
	if changed {
		w.log.Error("instance failed; trying again", "error", cause)
	}
	return pause
}

// shutDown stops the server, though ctx has ended, and keeps its data.
func (w *worker[R, P]) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := w.server.Stop(ctx); err != nil {
		w.log.Error("server could not be stopped", "error", err)
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
