// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// firstRetry is the pause after the first failure; it doubles with each further one.
const firstRetry = 250 * time.Millisecond

// worker brings one instance to the state that its record asks for. Only run and what it calls touch the fields after
// the blank line.
type worker struct {
	service   *Service
	id        int
	wake      chan struct{}
	living    context.Context // ends when the instance is to be deleted
	interrupt context.CancelFunc

	log        *slog.Logger
	cluster    *postgres.Cluster
	server     *postgres.Server // nil when none is known to run
	readySince time.Time        // zero until the server first accepted connections
	failures   int              // in a row, or nearly so
}

func newWorker(s *Service, id int, life context.Context) *worker {
	w := &worker{
		service: s, id: id, wake: make(chan struct{}, 1),
		log: s.Log.With("id", id), cluster: s.cluster(id),
	}
	w.living, w.interrupt = context.WithCancel(life)
	return w
}

// notify makes the worker look again soon.
func (w *worker) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // It will look again anyway.
	}
}

// run works until the instance is gone or ctx ends; then it stops the server.
func (w *worker) run(ctx context.Context) {
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
func (w *worker) wait(ctx context.Context, pause time.Duration) bool {
	var retry <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		retry = timer.C
	}
	var exited <-chan struct{}
	if w.server != nil {
		exited = w.server.Exited()
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-exited:
	case <-retry:
	}
	return ctx.Err() == nil
}

// pass does what there is to do and says when to look again: 0 is when something changes.
func (w *worker) pass(ctx context.Context) (retry time.Duration, gone bool) {
	if !w.readySince.IsZero() && time.Since(w.readySince) > w.service.RetryInterval {
		w.failures = 0 // The server ran well for long: if it died now, there is no reason to hesitate.
	}
	record, err := w.service.Store.Instance(w.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, true
	case err == nil && record.Status == api.StatusDeleting:
		if err = w.remove(ctx); err == nil {
			return 0, true
		}
	case err == nil:
		err = w.provide(w.living, record)
		if w.living.Err() != nil {
			return firstRetry, false // Cut short; what it says does not matter any more.
		}
	}
	if err != nil && ctx.Err() == nil {
		return w.failed(err), false
	}
	return 0, false
}

// failed records why a pass failed and returns the pause before the next one.
func (w *worker) failed(cause error) time.Duration {
	w.failures++
	pause := w.service.RetryInterval
	if shift := w.failures - 1; shift < 16 {
		pause = min(pause, firstRetry<<shift)
	}
	changed := false
	_, err := w.service.Store.UpdateInstance(w.id, func(i *store.Instance) error {
		before := *i
		if i.Message = cause.Error(); i.Status != api.StatusDeleting {
			i.Status = api.StatusFailed
		}
		changed = i.Status != before.Status || i.Message != before.Message
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
func (w *worker) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var err error
	if w.server != nil {
		err = w.server.Stop(ctx)
	}
	// A pass that was cut short may have left initdb at work.
	if err = errors.Join(err, w.cluster.Clear(ctx)); err != nil {
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
