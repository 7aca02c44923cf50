// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process tells one life of a process id from the next, and waits for its end.
package process

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one life of a process id: ids are used again, start times are not.
type Process struct {
	PID   int
	Start uint64 // in clock ticks since the machine started
}

// String returns the process as PID-START.
func (p Process) String() string { return fmt.Sprintf("%d-%d", p.PID, p.Start) }

// Parse is the inverse of String.
func Parse(text string) (Process, error) {
	pid, start, ok := strings.Cut(text, "-")
	if !ok {
		return Process{}, fmt.Errorf("%q is not PID-START", text)
	}
	p, err := strconv.Atoi(pid)
	if err != nil {
		return Process{}, fmt.Errorf("reading process id: %w", err)
	}
	s, err := strconv.ParseUint(start, 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("reading start time: %w", err)
	}
	return Process{PID: p, Start: s}, nil
}

// LookUp returns the process that has an id now.
func LookUp(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	// The second field is the program's name in brackets, which may hold spaces and brackets; the state is the third and
	// the start time the 22nd.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("looking up process %d: %d fields", pid, len(fields))
	}
	if fields[0] == "Z" {
		return Process{}, fmt.Errorf("looking up process %d: it has ended", pid)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	now, err := LookUp(p.PID)
	return err == nil && now == p
}

// AwaitEnd returns when the process has ended or ctx has. A handle of the process tells at once; looking it up again
// every second also covers systems without handles, and an id that another process has got before the handle was taken.
func (p Process) AwaitEnd(ctx context.Context) {
	const interval = time.Second
	handle, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		handle = -1
	} else {
		defer unix.Close(handle)
	}
	for ctx.Err() == nil && p.Alive() {
		if handle < 0 {
			select {
			case <-time.After(interval):
			case <-ctx.Done():
			}
			continue
		}
		fds := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(interval.Milliseconds())); err == nil && n > 0 {
			return
		}
	}
}
