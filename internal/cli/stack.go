// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// A service runs until its context ends or it fails. It has one lifetime.
type service struct {
	name       string
	listenFlag string // the flag that chooses its address, if there is one
	run        func(ctx context.Context) error
	ready      <-chan struct{} // closed when others may use it
}

// maxServices bounds what one stack may start; up starts four.
const maxServices = 8

// A stack is services that stop in the reverse order of their start: whoever uses another is gone before it.
type stack struct {
	started []*startedService
	failed  chan *startedService // has room for all, so that none of them blocks
}

type startedService struct {
	service
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned
	err    error         // what run returned; read after done
}

func newStack() *stack { return &stack{failed: make(chan *startedService, maxServices)} }

// launch starts a service without waiting. The service outlives ctx, of which it keeps only the values: stop ends it.
func (s *stack) launch(ctx context.Context, svc service) *startedService {
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &startedService{service: svc, cancel: cancel, done: make(chan struct{})}
	s.started = append(s.started, started)
	go func() {
		started.err = svc.run(runCtx)
		close(started.done)
		s.failed <- started
	}()
	return started
}

// waitReady returns when a service may be used, with an error if it or another ends before.
func (s *stack) waitReady(ctx context.Context, started *startedService) error {
	select {
	case <-started.ready:
		return nil
	case failed := <-s.failed:
		return failed.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start launches a service and waits until it may be used.
func (s *stack) start(ctx context.Context, svc service) error {
	return s.waitReady(ctx, s.launch(ctx, svc))
}

// wait returns nil when ctx ends, or why a service ended before.
func (s *stack) wait(ctx context.Context) error {
	select {
	case failed := <-s.failed:
		return failed.ended()
	case <-ctx.Done():
		return nil
	}
}

// stop ends every service, last started first, and returns what went wrong while they ended.
func (s *stack) stop() error {
	var errs []error
	for i := len(s.started) - 1; i >= 0; i-- {
		started := s.started[i]
		select {
		case <-started.done:
			continue // ended by itself; wait has told
		default:
		}
		started.cancel()
		<-started.done
		if started.err != nil && !errors.Is(started.err, context.Canceled) {
			errs = append(errs, fmt.Errorf("stopping %s: %w", started.name, started.err))
		}
	}
	return errors.Join(errs...)
}

// ended explains why a service that should run does not.
func (s *startedService) ended() error {
	if s.err == nil {
		return fmt.Errorf("%s ended unexpectedly", s.name)
	}
	if errors.Is(s.err, syscall.EADDRINUSE) && s.listenFlag != "" {
		return fmt.Errorf("running %s: %w (the flag is %s)", s.name, s.err, s.listenFlag)
	}
	return fmt.Errorf("running %s: %w", s.name, s.err)
}
