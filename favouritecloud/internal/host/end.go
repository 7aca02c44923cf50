// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// endIn ends every process that works in the folder and runs one of the programs, and kills those that do not end in time.
func endIn(ctx context.Context, folder string, programs Signals) error {
	names, deadline := slices.Collect(maps.Keys(programs)), time.Now().Add(killAfter)
	for {
		running, err := processesIn(folder, names...)
		if err == nil && len(running) == 0 {
			return nil
		}
		if err == nil {
			err = endAll(ctx, running, programs, deadline)
		}
		for _, p := range running {
			p.Close()
		}
		if err != nil {
			return fmt.Errorf("ending processes of %s: %w", folder, err)
		}
	}
}

// endAll signals the processes, and kills those that remain after the deadline.
func endAll(ctx context.Context, running []*Process, programs Signals, deadline time.Time) error {
	orderly, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, p := range running {
		sig := unix.SIGKILL
		if info, err := p.Inspect(); err == nil && programs[info.Command] != 0 && time.Now().Before(deadline) {
			sig = programs[info.Command]
		}
		if err := p.Signal(sig); err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
	}
	for _, p := range running {
		if p.Wait(orderly) == nil {
			continue
		}
		if err := p.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
