// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process identifies processes that this program did not start.
package process

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Identify returns a running process as PID-START, since ids are reused; START is in clock ticks since the start of the machine.
func Identify(pid int) (string, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return "", fmt.Errorf("looking up process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return "", fmt.Errorf("looking up process %d: %w", pid, err)
	}
	if stat.State == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fmt.Sprintf("%d-%d", pid, stat.Starttime), nil
}

// Alive reports whether a process still runs. An identity that Identify did not return is an error.
func Alive(identity string) (bool, error) {
	var pid, start int
	if _, err := fmt.Sscanf(identity, "%d-%d", &pid, &start); err != nil {
		return false, fmt.Errorf("%q is not PID-START: %w", identity, err)
	}
	now, err := Identify(pid)
	return err == nil && now == identity, nil
}
