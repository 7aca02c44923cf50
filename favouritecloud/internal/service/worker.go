// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	firstRetry = 250 * time.Millisecond // the pause after the first failure; it doubles with each further one
	// readyTimeout is how long a pass waits for a starting server before it reports that. The server continues to start.
	readyTimeout   = 30 * time.Second
	silenceTimeout = 10 * time.Second // how long a server that was ready may not answer before its instance is FAILED
	stopTimeout    = time.Minute      // how long the server may take to stop with the cloud
	diskFull       = 1 << 20          // bytes that are free on a disk on which servers can hardly write
)

var (
	errServerDied = errors.New("the server ended unexpectedly; restarting it") // a failure that a restart repairs
	// errUnchanged keeps a transaction that would change nothing from being written.
	errUnchanged = errors.New("unchanged")
)

// worker brings one server to its desired state. Only run and its callees use the fields after the blank line.
type worker[Spec any] struct {
	fleet         *fleet[Spec]
	project, name string
	id            int
	wake          chan struct{}
	alive         context.Context // ends when the record is to be deleted
	interrupt     context.CancelFunc
	log           *slog.Logger

	folder    *host.Folder
	driver    Driver[Spec]
	server    *host.Server // nil when none is known to run
	goodSince time.Time    // when the server last became ready; zero while it is not
	failures  int          // reset when the server was ready for RetryInterval
}

func newWorker[Spec any](f *fleet[Spec], r Record[Spec], life context.Context) *worker[Spec] {
	w := &worker[Spec]{
		fleet: f, project: r.Project, name: r.Name, id: r.ID, wake: make(chan struct{}, 1),
		log: f.Log.With("id", r.ID, "instance", r.Name), folder: f.folder(f.folderName(r.ID)),
	}
	w.folder.Mark = r.Mark
	w.alive, w.interrupt = context.WithCancel(life)
	w.driver = f.servers.NewDriver(Site[Spec]{
		Folder: w.folder, Log: w.log, Update: w.update, Installed: f.servers.Software.Find,
	})
	return w
}

// update changes the record. The error is store.ErrNotFound when there is none.
func (w *worker[Spec]) update(change func(*Record[Spec])) (Record[Spec], error) {
	return w.fleet.edit(w.project, w.name, w.id, func(r *Record[Spec]) error {
		change(r)
		return nil
	})
}

// notify requests another pass.
func (w *worker[Spec]) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // A pass is requested already.
	}
}

// run makes passes until the record is deleted or ctx ends; then it stops the server.
func (w *worker[Spec]) run(ctx context.Context) {
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

// wait returns after the pause (0: unlimited), when a pass is requested or the server has ended; false when ctx has ended.
func (w *worker[Spec]) wait(ctx context.Context, pause time.Duration) bool {
	var retry <-chan time.Time
	if pause > 0 {
		retry = time.After(pause)
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
	case <-w.exited():
	case <-retry:
	}
	return ctx.Err() == nil
}

// pass compares the record and the server, and acts. It returns the pause until the next pass.
func (w *worker[Spec]) pass(ctx context.Context) (retry time.Duration, deleted bool) {
	if !w.goodSince.IsZero() && time.Since(w.goodSince) > w.fleet.RetryInterval {
		w.failures = 0 // If a server that ran for long ends, it is restarted without a pause.
	}
	r, err := w.fleet.get(w.project, w.name)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && r.ID != w.id:
		return 0, true
	case err == nil && r.Status == sdk.StatusDeleting:
		if err = w.remove(ctx, r); err == nil {
			return 0, true
		}
	case err == nil:
		if r, err = w.expire(r); err == nil {
			err = w.provide(w.alive, r)
		}
		if w.alive.Err() != nil {
			return firstRetry, false // Interrupted by a deletion.
		}
	}
	if err != nil && ctx.Err() == nil {
		return w.failed(err), false
	}
	retry = jitter(w.fleet.checkInterval())
	if r.PreviousPassword != "" {
		retry = min(retry, max(time.Until(r.PreviousExpiresAt), time.Millisecond))
	}
	return retry, false
}

// expire ends the previous password in the record if its time is up. The pass that follows ends it on the server: if the pass is
// interrupted, the status, or the first pass of another process, requires the next one to do so.
func (w *worker[Spec]) expire(r Record[Spec]) (Record[Spec], error) {
	if r.PreviousPassword == "" || time.Now().Before(r.PreviousExpiresAt) {
		return r, nil
	}
	return w.update(func(r *Record[Spec]) {
		if r.endPrevious() && r.Status != sdk.StatusDeleting {
			r.changed()
		}
	})
}

// jitter spreads the checks of servers that started together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// find reports whether the server runs, and adopts it if an earlier cloud started it.
func (w *worker[Spec]) find(ctx context.Context, r Record[Spec]) (bool, error) {
	if w.server != nil {
		return true, nil
	}
	found, err := w.driver.Find(ctx, r)
	if errors.Is(err, host.ErrEnded) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.server = found
	w.log.Info("running server adopted", "pid", found.Pid())
	return true, nil
}

// provide runs the server as the record requires. If it ended since the last pass, provide fails once and starts nothing.
func (w *worker[Spec]) provide(ctx context.Context, r Record[Spec]) error {
	if w.hasEnded() {
		w.forget()
		return errServerDied
	}
	runs, err := w.find(ctx, r)
	if err != nil {
		return err
	}
	patience, settled := silenceTimeout, r.Status == sdk.StatusOnline
	if !runs || !w.driver.Fits(w.server, r) {
		if err := w.restart(ctx, r); err != nil {
			return err
		}
		settled = false
	}
	if !settled {
		patience = readyTimeout
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = w.driver.AwaitReady(waiting, w.server, r)
	fault, _ := errors.AsType[*host.Fault](err)
	answers := err == nil || fault != nil
	if answers {
		err = cmp.Or(w.checkDisk(), err)
	}
	if err == nil && settled && !w.goodSince.IsZero() {
		return nil
	}
	var seen Seen
	if answers {
		var unsettled error
		seen, unsettled = w.driver.Settle(waiting, w.server, r) // also a server with a fault may take a new password
		err = cmp.Or(err, unsettled)
	}
	if err == nil && r.Mark == "" {
		err = w.takeOver()
	}
	if err != nil {
		if w.hasEnded() {
			w.forget() // This error has the cause; errServerDied would hide it.
		}
		return err
	}
	if w.goodSince.IsZero() {
		w.goodSince = time.Now()
	}
	return w.announce(r.Generation, seen)
}

// takeOver marks the data of a server of an earlier version. The mark is in the data first: data without the recorded one is refused.
func (w *worker[Spec]) takeOver() error {
	mark, err := w.folder.TakeOver()
	if err != nil {
		return fmt.Errorf("marking data: %w", err)
	}
	w.folder.Mark = mark
	_, err = w.update(func(r *Record[Spec]) { r.Mark = mark })
	return err
}

// checkDisk fails while servers cannot write: many notice that only when they do.
func (w *worker[Spec]) checkDisk() error {
	if free, err := w.fleet.free(w.folder.Path); err != nil || free >= diskFull {
		return nil
	}
	return errors.New("the disk of the servers is full, so that writes fail: free space on it, and the instance is ONLINE again")
}

func (w *worker[Spec]) restart(ctx context.Context, r Record[Spec]) error {
	installed, err := w.fleet.servers.Software.Find(ctx)
	if err != nil {
		return err
	}
	start, err := w.driver.Prepare(ctx, r, installed)
	if err != nil {
		return err
	}
	if w.server != nil {
		if err := w.server.Shutdown(ctx); err != nil {
			return err
		}
		w.forget()
	}
	port := r.Port
	if port == 0 || !host.IsFree(port) { // Another program may have taken it while the server was down.
		if port, err = w.fleet.choosePort(w); err != nil {
			return err
		}
	}
	if err := w.folder.Clear(ctx); err != nil {
		return err
	}
	if w.server, err = start(port); err != nil {
		return err
	}
	w.log.Info("server started", "pid", w.server.Pid(), "port", port)
	return nil
}

// exited is closed when the server that is known to run has ended; nil when none is.
func (w *worker[Spec]) exited() <-chan struct{} {
	if w.server == nil {
		return nil
	}
	return w.server.Exited()
}

func (w *worker[Spec]) hasEnded() bool {
	select {
	case <-w.exited():
		return true
	default:
		return false
	}
}

// forget stops watching the server and leaves it running.
func (w *worker[Spec]) forget() {
	if w.server != nil {
		w.server.Close()
	}
	w.server = nil
}

// announce records that the server is ready, unless the desired state has changed in the meantime: then another pass follows.
func (w *worker[Spec]) announce(generation int, seen Seen) error {
	changed, err := w.record(func(r *Record[Spec]) {
		if r.Status != sdk.StatusDeleting && r.Generation == generation {
			r.Status, r.Message, r.Version, r.Port = sdk.StatusOnline, "", seen.Version, seen.Port
		}
	})
	if changed {
		w.log.Info("instance online", "port", seen.Port)
	}
	return err
}

// failed records why a pass failed and returns the pause before the next one.
func (w *worker[Spec]) failed(cause error) time.Duration {
	w.goodSince = time.Time{}
	w.failures++
	changed, err := w.record(func(r *Record[Spec]) {
		if r.Message = cause.Error(); r.Status != sdk.StatusDeleting {
			r.Status = sdk.StatusFailed
		}
	})
	if changed || err != nil {
		w.log.Error("instance failed; retrying", "error", errors.Join(cause, err))
	}
	if shift := w.failures - 1; shift < 16 {
		return min(w.fleet.RetryInterval, firstRetry<<shift)
	}
	return w.fleet.RetryInterval
}

// record lets observe edit the observed state, and reports whether it changed.
func (w *worker[Spec]) record(observe func(*Record[Spec])) (changed bool, err error) {
	_, err = w.fleet.edit(w.project, w.name, w.id, func(r *Record[Spec]) error {
		status, message, server := r.Status, r.Message, r.Server
		observe(r)
		if changed = r.Status != status || r.Message != message || r.Server != server; !changed {
			return errUnchanged
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUnchanged) && !errors.Is(err, store.ErrNotFound) {
		return false, fmt.Errorf("recording instance: %w", err)
	}
	return changed && err == nil, nil
}

// remove deletes the record last: as long as anything is left, the status is DELETING, also after a restart of the cloud.
func (w *worker[Spec]) remove(ctx context.Context, r Record[Spec]) error {
	if err := w.folder.Remove(ctx); err != nil {
		return err
	}
	w.forget()
	if err := w.fleet.Store.Write(func(tx *store.Tx) error { return w.fleet.remove(tx, r) }); err != nil {
		return fmt.Errorf("deleting record: %w", err)
	}
	w.log.Info("instance deleted")
	return nil
}

// shutDown stops the server, unless it is kept, though ctx has ended, and keeps its data. An interrupted pass may have left a program running.
func (w *worker[Spec]) shutDown(ctx context.Context) {
	if w.fleet.Kept != nil && w.fleet.Kept() {
		w.forget()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var err error
	if w.server != nil {
		err = w.server.Shutdown(ctx)
	}
	if err = errors.Join(err, w.folder.Clear(ctx)); err != nil {
		w.log.Error("stopping server", "error", err)
	}
}
