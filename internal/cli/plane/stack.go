// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// A Service runs until its context ends or it fails. It has one lifetime.
type Service struct {
	Name       string
	ListenFlag string // the flag that chooses its address, if there is one
	Run        func(ctx context.Context) error
	Ready      <-chan struct{} // closed when others may use the service; nil: at once
}

// maxServices bounds the services of one stack; up starts three.
const maxServices = 8

// A Stack holds services that stop in the reverse order of their start: the users of a service stop before it does.
type Stack struct {
	started []*Started
	failed  chan *Started // has room for all, so that no service blocks at its end
}

// Started is a service that runs.
type Started struct {
	Service
	cancel context.CancelFunc
	done   chan struct{} // closed when Run has returned
	err    error         // of Run; valid after done
}

// Run calls start to bring up services, waits until ctx ends or one of them fails, and stops them all. cleanUp, if any, runs before
// they stop, if start succeeded. The end of ctx during the start is not a failure.
func Run(ctx context.Context, start func(context.Context, *Stack) error, cleanUp func() error) error {
	running := &Stack{failed: make(chan *Started, maxServices)}
	if err := start(ctx, running); err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return errors.Join(err, running.stop())
	}
	err := running.wait(ctx)
	if cleanUp != nil {
		err = errors.Join(err, cleanUp())
	}
	return errors.Join(err, running.stop())
}

// RunOne is Run for one service. ready is called when the service is ready.
func RunOne(ctx context.Context, svc Service, ready, cleanUp func() error) error {
	return Run(ctx, func(ctx context.Context, running *Stack) error {
		if err := running.Start(ctx, svc); err != nil {
			return err
		}
		return ready()
	}, cleanUp)
}

// Launch starts a service without waiting for it. The service outlives ctx, of which it keeps only the values; the stack ends it.
func (s *Stack) Launch(ctx context.Context, svc Service) *Started {
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &Started{Service: svc, cancel: cancel, done: make(chan struct{})}
	s.started = append(s.started, started)
	go func() {
		started.err = svc.Run(runCtx)
		close(started.done)
		s.failed <- started
	}()
	return started
}

// WaitReady waits until a service is ready. It returns an error if any service of the stack ends before.
func (s *Stack) WaitReady(ctx context.Context, started *Started) error {
	if started.Ready == nil {
		return nil
	}
	select {
	case <-started.Ready:
		return nil
	case failed := <-s.failed:
		return failed.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start launches a service and waits until it is ready.
func (s *Stack) Start(ctx context.Context, svc Service) error {
	return s.WaitReady(ctx, s.Launch(ctx, svc))
}

func (s *Stack) wait(ctx context.Context) error {
	select {
	case failed := <-s.failed:
		return failed.ended()
	case <-ctx.Done():
		return nil
	}
}

func (s *Stack) stop() (err error) {
	for _, started := range slices.Backward(s.started) {
		select {
		case <-started.done:
			continue // ended by itself; wait has reported it
		default:
		}
		started.cancel()
		<-started.done
		if started.err != nil && !errors.Is(started.err, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("stopping %s: %w", started.Name, started.err))
		}
	}
	return err
}

func (s *Started) ended() error {
	if s.err == nil {
		return fmt.Errorf("%s ended unexpectedly", s.Name)
	}
	if errors.Is(s.err, syscall.EADDRINUSE) && s.ListenFlag != "" {
		return fmt.Errorf("running %s: %w (the flag is %s)", s.Name, s.err, s.ListenFlag)
	}
	return fmt.Errorf("running %s: %w", s.Name, s.err)
}
