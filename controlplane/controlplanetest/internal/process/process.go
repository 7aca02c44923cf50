// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process identifies processes that this program did not start, and waits for their end.
package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// A Process is identified by its id and its start time, since ids are reused.
type Process struct {
	PID   int
	Start uint64 // in clock ticks since the start of the machine
}

// String returns the process as PID-START.
func (p Process) String() string { return fmt.Sprintf("%d-%d", p.PID, p.Start) }

// Parse is the inverse of String.
func Parse(text string) (p Process, err error) {
	if _, err := fmt.Sscanf(text, "%d-%d", &p.PID, &p.Start); err != nil || p.String() != text {
		return Process{}, errors.Join(fmt.Errorf("%q is not PID-START", text), err)
	}
	return p, nil
}

// LookUp returns the running process with an id.
func LookUp(pid int) (Process, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return Process{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return Process{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	if stat.State == "Z" {
		return Process{}, fmt.Errorf("looking up process %d: it has ended", pid)
	}
	return Process{PID: pid, Start: stat.Starttime}, nil
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	now, err := LookUp(p.PID)
	return err == nil && now == p
}

// AwaitEnd returns when the process has ended, within a quarter of a second, or when ctx ends.
func (p Process) AwaitEnd(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for p.Alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
