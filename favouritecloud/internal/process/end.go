// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// killAfter is how long EndIn lets a process end in an orderly way.
const killAfter = 5 * time.Second

// shutdownTimeout is how long End lets a server take to write everything back.
const shutdownTimeout = 30 * time.Second

// End ends a server in an orderly way, by the signal that asks for it, and closes it. If that takes too long, force has to.
func (p *Process) End(ctx context.Context, sig unix.Signal, force func(context.Context) error) error {
	if err := p.Signal(sig); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("stopping server: %w", err)
	}
	orderly, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if p.Wait(orderly) != nil {
		if err := force(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
		if err := p.Wait(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
	}
	p.Close()
	return nil
}

// EndIn ends every process that works in the folder and runs one of the programs, given by the signal at which it ends in an
// orderly way. Those that do not are killed.
func EndIn(ctx context.Context, folder string, programs map[string]unix.Signal) error {
	var names []string
	for name := range programs {
		names = append(names, name)
	}
	deadline := time.Now().Add(killAfter)
	for {
		running, err := InFolder(folder, names...)
		if err != nil {
			return fmt.Errorf("ending processes of %s: %w", folder, err)
		}
		if len(running) == 0 {
			return nil
		}
		err = endAll(ctx, running, programs, deadline)
		for _, p := range running {
			p.Close()
		}
		if err != nil {
			return fmt.Errorf("ending processes of %s: %w", folder, err)
		}
	}
}

// endAll asks politely, and kills what remains after the deadline.
func endAll(ctx context.Context, running []*Process, programs map[string]unix.Signal, deadline time.Time) error {
	polite, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, p := range running {
		sig := unix.SIGKILL
		if info, err := p.Inspect(); err == nil && programs[info.Command] != 0 && time.Now().Before(deadline) {
			sig = programs[info.Command]
		}
		if err := p.Signal(sig); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	for _, p := range running {
		if p.Wait(polite) == nil {
			continue
		}
		if err := p.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
