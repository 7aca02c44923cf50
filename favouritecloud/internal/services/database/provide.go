// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// readyTimeout is when a server that starts slowly becomes worth a message. It goes on starting.
const readyTimeout = 30 * time.Second

// errServerDied is the reason of a failure that a restart mends.
var errServerDied = errors.New("the server ended unexpectedly; restarting it")

// provide makes sure that the server of a living instance runs as its record wants and accepts connections.
func (w *worker) provide(ctx context.Context, record store.Instance) error {
	if err := w.noticeDeath(); err != nil {
		return err
	}
	if err := w.adopt(record); err != nil {
		return err
	}
	if !w.runs(record) {
		if err := w.restart(ctx, record); err != nil {
			return err
		}
	}
	starting, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := w.server.WaitReady(starting); err != nil {
		if w.hasEnded() {
			w.forgetServer() // The error says more than noticeDeath could.
		}
		return err
	}
	if w.readySince.IsZero() {
		w.readySince = time.Now()
	}
	if err := w.applyPassword(starting, record); err != nil {
		return err
	}
	return w.announce(record)
}

// noticeDeath reports, once, that the server ended without having been told to.
func (w *worker) noticeDeath() error {
	if w.server == nil || !w.hasEnded() {
		return nil
	}
	w.forgetServer()
	return errServerDied
}

func (w *worker) hasEnded() bool {
	select {
	case <-w.server.Exited():
		return true
	default:
		return false
	}
}

func (w *worker) forgetServer() {
	w.server.Release()
	w.server, w.readySince = nil, time.Time{}
}

// adopt takes over a server that an earlier cloud left running.
func (w *worker) adopt(record store.Instance) error {
	if w.server != nil {
		return nil
	}
	running, err := w.cluster.Running()
	if err != nil {
		return err
	}
	if running != nil {
		w.server = running
		w.log.Info("running server adopted", "instance", record.Name, "pid", running.Pid())
	}
	return nil
}

// runs reports whether a server with the wanted settings runs.
func (w *worker) runs(record store.Instance) bool {
	return w.server != nil && w.server.Settings().MaxConnections == record.FancinessLevel && w.server.Settings().Port != 0
}

// restart stops the server if one runs, and starts one with the wanted settings. It makes the data folder if need be.
func (w *worker) restart(ctx context.Context, record store.Instance) error {
	installed, err := postgres.FindInstallations(ctx, w.service.SearchPath)
	if err != nil {
		return err
	}
	installation, err := w.initialize(ctx, record, installed)
	if err != nil {
		return err
	}
	if w.server != nil {
		if err := w.server.Stop(ctx); err != nil {
			return err
		}
		w.forgetServer()
	}
	port := record.Port
	if port == 0 || !postgres.IsFree(port) { // Lost to another program while the server was down.
		if port, err = w.service.choosePort(w.id); err != nil {
			return err
		}
	}
	w.server, err = w.cluster.Start(ctx, installation, postgres.Settings{Port: port, MaxConnections: record.FancinessLevel})
	if err != nil {
		return err
	}
	w.log.Info("server started", "instance", record.Name, "pid", w.server.Pid(), "port", port)
	return nil
}

// initialize makes the data folder if there is none, and returns the programs that fit it.
func (w *worker) initialize(ctx context.Context, record store.Instance, installed []postgres.Installation) (postgres.Installation, error) {
	done, err := w.cluster.Initialized()
	if err != nil {
		return postgres.Installation{}, fmt.Errorf("looking at data folder: %w", err)
	}
	if done {
		major, err := w.cluster.Major()
		if err != nil {
			return postgres.Installation{}, err
		}
		return postgres.Select(installed, major)
	}
	installation, err := postgres.Select(installed, record.Version)
	if err != nil {
		return postgres.Installation{}, err
	}
	select {
	case w.service.slots <- struct{}{}:
		defer func() { <-w.service.slots }()
	case <-ctx.Done():
		return postgres.Installation{}, ctx.Err()
	}
	password, err := w.firstPassword()
	if err != nil {
		return postgres.Installation{}, err
	}
	return installation, w.cluster.Initialize(ctx, installation, password)
}

// announce records that the server is ready, unless more was asked of it meanwhile: then another pass follows.
func (w *worker) announce(record store.Instance) error {
	major, err := w.cluster.Major()
	if err != nil {
		return err
	}
	port, changed := w.server.Settings().Port, false
	_, err = w.service.Store.UpdateInstance(w.id, func(i *store.Instance) error {
		if i.Status == api.StatusDeleting || i.FancinessLevel != record.FancinessLevel || i.Password != record.Password {
			return errUnchanged
		}
		changed = i.Status != api.StatusOnline || i.Message != "" || i.Version != major || i.Port != port
		i.Status, i.Message, i.Version, i.Port = api.StatusOnline, "", major, port
		return unlessChanged(changed)
	})
	if err != nil && !errors.Is(err, errUnchanged) && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording instance: %w", err)
	}
	if changed {
		w.log.Info("instance online", "instance", record.Name, "port", port)
	}
	return nil
}
