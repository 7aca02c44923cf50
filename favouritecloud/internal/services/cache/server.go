// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/redis"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
)

// readyTimeout is when a server that starts slowly becomes worth a message. It goes on starting.
const readyTimeout = 30 * time.Second

// A server looks after one Redis server.
type server struct {
	fleet.Site[Record]
	searchPath []string
	owner      account.Account
	running    *redis.Server // nil when none is known to run
}

// instance is the server's folder. Without a record it serves to remove what is there.
func (s *server) instance(secret string) *redis.Instance {
	return redis.NewInstance(s.Folder, s.owner, secret)
}

func settings(r Record, port int) redis.Settings {
	return redis.Settings{Port: port, MemoryMegabytes: r.MemoryMegabytes, EvictionPolicy: r.EvictionPolicy, Password: r.Password}
}

// Running reports whether the server runs, and adopts it.
func (s *server) Running(ctx context.Context, record Record) (bool, error) {
	if s.running != nil {
		return true, nil
	}
	running, err := s.instance(record.Secret).Running(ctx)
	if err != nil || running == nil {
		return false, err
	}
	s.running = running
	s.Log.Info("running server adopted", "instance", record.Name, "pid", running.Pid())
	return true, nil
}

// Exited is closed when the server has ended; nil when none is known to run.
func (s *server) Exited() <-chan struct{} {
	if s.running == nil {
		return nil
	}
	return s.running.Exited()
}

// Provide makes sure that the server runs as its record wants and serves clients.
func (s *server) Provide(ctx context.Context, record Record) (fleet.Seen, error) {
	if s.hasEnded() {
		s.forget()
		return fleet.Seen{}, fleet.ErrServerDied
	}
	runs, err := s.Running(ctx, record)
	if err != nil {
		return fleet.Seen{}, err
	}
	if !runs {
		if err := s.start(ctx, record); err != nil {
			return fleet.Seen{}, err
		}
	}
	starting, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	version, port, err := s.running.WaitReady(starting)
	if err != nil {
		if s.hasEnded() {
			s.forget() // The error says more than ErrServerDied could.
		}
		return fleet.Seen{}, err
	}
	return fleet.Seen{Version: version, Port: port}, s.running.Apply(starting, settings(record, port))
}

func (s *server) hasEnded() bool {
	select {
	case <-s.Exited():
		return true
	default:
		return false
	}
}

func (s *server) forget() {
	s.running.Close()
	s.running = nil
}

func (s *server) start(ctx context.Context, record Record) error {
	installed, err := redis.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	installation, err := redis.Select(installed, record.Version)
	if err != nil {
		return err
	}
	port := record.Port
	if port == 0 || !ports.IsFree(port) { // Lost to another program while the server was down.
		if port, err = s.ChoosePort(); err != nil {
			return err
		}
	}
	if s.running, err = s.instance(record.Secret).Start(ctx, installation, settings(record, port)); err != nil {
		return err
	}
	s.Log.Info("server started", "instance", record.Name, "pid", s.running.Pid(), "port", port)
	return nil
}

// Stop ends the server in an orderly way.
func (s *server) Stop(ctx context.Context) error {
	var err error
	if s.running != nil {
		err = s.running.Stop(ctx)
	}
	return errors.Join(err, s.instance("").Clear(ctx))
}

// Remove ends the server and deletes its data.
func (s *server) Remove(ctx context.Context) error {
	if err := s.instance("").Remove(ctx); err != nil {
		return err
	}
	if s.running != nil {
		s.forget()
	}
	return nil
}
