// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// readyTimeout is how long a pass waits for a starting server before it reports that. The server continues to start.
const readyTimeout = 30 * time.Second

// Running is a server process. Close stops watching it and leaves it running.
type Running interface {
	comparable // a pointer; nil is none
	Pid() int
	Exited() <-chan struct{}
	Stop(ctx context.Context) error
	Close()
}

// An Engine runs the server of one instance, whose record is an R, as a process S. Its methods are called one at a time.
type Engine[R any, S Running] interface {
	// Find returns the running server, nil if there is none.
	Find(ctx context.Context, record R) (S, error)
	// Fits reports whether the server can continue to run, or must be restarted to match the record.
	Fits(server S, record R) bool
	// Prepare makes sure that a server can be started, and returns the function that starts it. The current server, if any, is
	// stopped in between.
	Prepare(ctx context.Context, record R) (start func(port int) (S, error), err error)
	// Settle waits until the server accepts connections and applies the rest of the record to it.
	Settle(ctx context.Context, server S, record R) (Seen, error)
	// Clear ends every server process of the instance and keeps the data.
	Clear(ctx context.Context) error
	// Remove ends every server process of the instance and deletes its folder.
	Remove(ctx context.Context) error
}

// NewServer returns the Server that runs an engine at a site.
func NewServer[R any, S Running, P store.Record[R]](site Site[R], engine Engine[R, S]) Server[R] {
	return &server[R, S, P]{Site: site, engine: engine}
}

type server[R any, S Running, P store.Record[R]] struct {
	Site[R]
	engine  Engine[R, S]
	running S // nil when none is known to run
}

func (s *server[R, S, P]) isKnown() bool {
	var none S
	return s.running != none
}

func (s *server[R, S, P]) Running(ctx context.Context, record R) (bool, error) {
	if s.isKnown() {
		return true, nil
	}
	running, err := s.engine.Find(ctx, record)
	if err != nil {
		return false, err
	}
	if s.running = running; s.isKnown() {
		s.Log.Info("running server adopted", "instance", P(&record).Common().Name, "pid", running.Pid())
	}
	return s.isKnown(), nil
}

func (s *server[R, S, P]) Exited() <-chan struct{} {
	if !s.isKnown() {
		return nil
	}
	return s.running.Exited()
}

func (s *server[R, S, P]) Provide(ctx context.Context, record R) (Seen, error) {
	if s.hasEnded() {
		s.forget()
		return Seen{}, errServerDied
	}
	runs, err := s.Running(ctx, record)
	if err != nil {
		return Seen{}, err
	}
	if !runs || !s.engine.Fits(s.running, record) {
		if err := s.restart(ctx, record); err != nil {
			return Seen{}, err
		}
	}
	starting, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	seen, err := s.engine.Settle(starting, s.running, record)
	if err != nil && s.hasEnded() {
		s.forget() // This error has the cause; errServerDied would hide it.
	}
	return seen, err
}

func (s *server[R, S, P]) hasEnded() bool {
	select {
	case <-s.Exited():
		return true
	default:
		return false
	}
}

func (s *server[R, S, P]) forget() {
	var none S
	if s.isKnown() {
		s.running.Close()
	}
	s.running = none
}

func (s *server[R, S, P]) restart(ctx context.Context, record R) error {
	start, err := s.engine.Prepare(ctx, record)
	if err != nil {
		return err
	}
	if s.isKnown() {
		if err := s.running.Stop(ctx); err != nil {
			return err
		}
		s.forget()
	}
	name, port := P(&record).Common().Name, P(&record).Common().Port
	if port == 0 || !host.IsFree(port) { // Another program may have taken it while the server was down.
		if port, err = s.ChoosePort(); err != nil {
			return err
		}
	}
	running, err := start(port)
	if err != nil {
		return err
	}
	s.running = running
	s.Log.Info("server started", "instance", name, "pid", running.Pid(), "port", port)
	return nil
}

// Stop implements Server. An interrupted Provide may have left a program running.
func (s *server[R, S, P]) Stop(ctx context.Context) error {
	var err error
	if s.isKnown() {
		err = s.running.Stop(ctx)
	}
	return errors.Join(err, s.engine.Clear(ctx))
}

func (s *server[R, S, P]) Remove(ctx context.Context) error {
	if err := s.engine.Remove(ctx); err != nil {
		return err
	}
	s.forget()
	return nil
}
