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
	// Abandon, if any, is called before ctx ends because a service failed, rather than because a person stops them all.
	Abandon func()
}

// maxServices bounds the services of one stack; up starts three.
const maxServices = 8

// A Stack holds services that stop in the reverse order of their start: the users of a service stop before it does.
type Stack struct {
	stops    []func() error
	abandons []func()
	failed   chan error // of services that ended by themselves; has room for all
}

func newStack() *Stack { return &Stack{failed: make(chan error, maxServices)} }

// Run calls start to bring up services, waits until ctx ends or one of them fails, and stops them all. cleanUp, if any, runs before
// they stop, if start succeeded. The end of ctx during the start is not a failure.
func Run(ctx context.Context, start func(context.Context, *Stack) error, cleanUp func() error) error {
	adapt := limitHeap(ctx)
	running := newStack()
	if err := start(ctx, running); err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return running.end(err, nil)
	}
	adapt()
	return running.end(running.wait(ctx), cleanUp)
}

// end stops all services, after a failure, if any.
func (s *Stack) end(failure error, cleanUp func() error) error {
	if failure != nil {
		for _, abandon := range s.abandons {
			abandon()
		}
	}
	if cleanUp != nil {
		failure = errors.Join(failure, cleanUp())
	}
	return errors.Join(failure, s.stop())
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
func (s *Stack) Launch(ctx context.Context, svc Service) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var err error
	done := make(chan struct{})
	if svc.Abandon != nil {
		s.abandons = append(s.abandons, svc.Abandon)
	}
	go func() {
		defer close(done)
		if err = svc.Run(running); running.Err() == nil {
			s.failed <- svc.ended(err)
			err = nil // it is reported
		}
	}()
	s.stops = append(s.stops, func() error {
		cancel()
		if <-done; err == nil || errors.Is(err, context.Canceled) {
			return nil
		}
		return fmt.Errorf("stopping %s: %w", svc.Name, err)
	})
}

// WaitReady waits until a service is ready. It returns an error if any service of the stack ends before.
func (s *Stack) WaitReady(ctx context.Context, svc Service) error {
	if svc.Ready == nil {
		return nil
	}
	select {
	case <-svc.Ready:
		return nil
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start launches a service and waits until it is ready.
func (s *Stack) Start(ctx context.Context, svc Service) error {
	s.Launch(ctx, svc)
	return s.WaitReady(ctx, svc)
}

func (s *Stack) wait(ctx context.Context) error {
	select {
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *Stack) stop() (err error) {
	for _, stop := range slices.Backward(s.stops) {
		err = errors.Join(err, stop())
	}
	return err
}

func (svc Service) ended(err error) error {
	if err == nil {
		return fmt.Errorf("%s ended unexpectedly", svc.Name)
	}
	if errors.Is(err, syscall.EADDRINUSE) && svc.ListenFlag != "" {
		return fmt.Errorf("running %s: %w (the flag is %s)", svc.Name, err, svc.ListenFlag)
	}
	return fmt.Errorf("running %s: %w", svc.Name, err)
}
