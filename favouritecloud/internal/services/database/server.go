// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
)

// readyTimeout is when a server that starts slowly becomes worth a message. It goes on starting.
const readyTimeout = 30 * time.Second

// A server looks after one PostgreSQL server.
type server struct {
	fleet.Site[Record]
	searchPath []string
	slots      chan struct{} // one token per data folder being made
	cluster    *postgres.Cluster
	running    *postgres.Server // nil when none is known to run
}

// Running reports whether the server runs.
func (s *server) Running(_ context.Context, record Record) (bool, error) {
	err := s.adopt(record)
	return s.running != nil, err
}

// Exited is closed when the server has ended; nil when none is known to run.
func (s *server) Exited() <-chan struct{} {
	if s.running == nil {
		return nil
	}
	return s.running.Exited()
}

// Provide makes sure that the server runs as its record wants and accepts connections.
func (s *server) Provide(ctx context.Context, record Record) (fleet.Seen, error) {
	if s.running != nil && s.hasEnded() {
		s.forget()
		return fleet.Seen{}, fleet.ErrServerDied
	}
	if err := s.adopt(record); err != nil {
		return fleet.Seen{}, err
	}
	if !s.runs(record) {
		if err := s.restart(ctx, record); err != nil {
			return fleet.Seen{}, err
		}
	}
	starting, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.running.WaitReady(starting); err != nil {
		if s.hasEnded() {
			s.forget() // The error says more than ErrServerDied could.
		}
		return fleet.Seen{}, err
	}
	if err := s.applyPassword(starting, record); err != nil {
		return fleet.Seen{}, err
	}
	major, err := s.cluster.Major()
	return fleet.Seen{Version: major, Port: s.running.Settings().Port}, err
}

func (s *server) hasEnded() bool {
	select {
	case <-s.running.Exited():
		return true
	default:
		return false
	}
}

func (s *server) forget() {
	s.running.Close()
	s.running = nil
}

// adopt takes over a server that an earlier cloud left running.
func (s *server) adopt(record Record) error {
	if s.running != nil {
		return nil
	}
	running, err := s.cluster.Running()
	if err != nil {
		return err
	}
	if running != nil {
		s.running = running
		s.Log.Info("running server adopted", "instance", record.Name, "pid", running.Pid())
	}
	return nil
}

// runs reports whether a server with the wanted settings runs.
func (s *server) runs(record Record) bool {
	return s.running != nil && s.running.Settings().MaxConnections == record.FancinessLevel && s.running.Settings().Port != 0
}

// restart stops the server if one runs, and starts one with the wanted settings. It makes the data folder if need be.
func (s *server) restart(ctx context.Context, record Record) error {
	installed, err := postgres.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	installation, err := s.initialize(ctx, record, installed)
	if err != nil {
		return err
	}
	if s.running != nil {
		if err := s.running.Stop(ctx); err != nil {
			return err
		}
		s.forget()
	}
	port := record.Port
	if port == 0 || !ports.IsFree(port) { // Lost to another program while the server was down.
		if port, err = s.ChoosePort(); err != nil {
			return err
		}
	}
	s.running, err = s.cluster.Start(ctx, installation, postgres.Settings{Port: port, MaxConnections: record.FancinessLevel})
	if err != nil {
		return err
	}
	s.Log.Info("server started", "instance", record.Name, "pid", s.running.Pid(), "port", port)
	return nil
}

// initialize makes the data folder if there is none, and returns the programs that fit it.
func (s *server) initialize(ctx context.Context, record Record, installed []postgres.Installation) (postgres.Installation, error) {
	done, err := s.cluster.Initialized()
	if err != nil {
		return postgres.Installation{}, fmt.Errorf("looking at data folder: %w", err)
	}
	if done {
		major, err := s.cluster.Major()
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
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return postgres.Installation{}, ctx.Err()
	}
	password, err := s.firstPassword()
	if err != nil {
		return postgres.Installation{}, err
	}
	return installation, s.cluster.Initialize(ctx, installation, password)
}

// Stop ends the server in an orderly way. A Provide that was cut short may have left initdb at work.
func (s *server) Stop(ctx context.Context) error {
	var err error
	if s.running != nil {
		err = s.running.Stop(ctx)
	}
	return errors.Join(err, s.cluster.Clear(ctx))
}

// Remove ends the server and deletes its data.
func (s *server) Remove(ctx context.Context) error {
	if err := s.cluster.Remove(ctx); err != nil {
		return err
	}
	if s.running != nil {
		s.forget()
	}
	return nil
}
