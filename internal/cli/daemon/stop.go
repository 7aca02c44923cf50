// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane"
)

// StopTimeout is how long a server may take to stop before it is killed: the cloud's database servers write their data.
const StopTimeout = 60 * time.Second

const (
	killTimeout  = 10 * time.Second
	stopInterval = 2 * time.Second // between messages of progress
)

// A Process is a server in another process. It is held by a handle (pidfd), so that a signal never reaches a process that
// reuses its number.
type Process struct{ *os.Process }

// Find returns the server of a data folder, nil if none runs. Release frees it.
func Find(dataDir string) (*Process, error) {
	pid, ok := controlplane.Holder(dataDir)
	if !ok {
		return nil, nil
	}
	if pid == 0 {
		return nil, fmt.Errorf("a server is just starting on %s; try again", dataDir)
	}
	found, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("reaching process %d: %w", pid, err)
	}
	// The number is certain only if it still holds the lock now that the handle is open.
	if again, ok := controlplane.Holder(dataDir); !ok || again != pid {
		return nil, found.Release()
	}
	if err := found.WithHandle(func(uintptr) {}); err != nil {
		return nil, fmt.Errorf("reaching process %d: %w", pid, err)
	}
	return &Process{found}, nil
}

// Stop asks the process to stop, and kills it if it does not stop in time. It reports progress to out.
func (p *Process) Stop(ctx context.Context, out io.Writer, timeout time.Duration) (killed bool, err error) {
	fmt.Fprintf(out, "Stopping process %d\n", p.Pid)
	if err := p.signal(unix.SIGTERM); err != nil {
		return false, err
	}
	begin := time.Now()
	for time.Since(begin) < timeout {
		ended, err := p.WaitEnd(ctx, min(stopInterval, timeout))
		if ended || err != nil {
			return false, err
		}
		fmt.Fprintf(out, "Still stopping after %s\n", time.Since(begin).Round(time.Second))
	}
	fmt.Fprintf(out, "Process %d did not stop within %s: killing it\n", p.Pid, timeout)
	if err := p.signal(unix.SIGKILL); err != nil {
		return true, err
	}
	ended, err := p.WaitEnd(ctx, killTimeout)
	if err == nil && !ended {
		err = fmt.Errorf("process %d cannot be killed; it may hang in the kernel", p.Pid)
	}
	return true, err
}

func (p *Process) signal(s os.Signal) error {
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling process %d: %w", p.Pid, err)
	}
	return nil
}

// WaitEnd waits until the process has ended, at most for the given time.
func (p *Process) WaitEnd(ctx context.Context, timeout time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(timeout)
	for ctx.Err() == nil {
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		var n int
		handleErr := p.WithHandle(func(handle uintptr) {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		})
		if errors.Is(handleErr, os.ErrProcessDone) {
			return true, nil
		}
		if err := errors.Join(handleErr, err); err != nil && !errors.Is(err, unix.EINTR) {
			return false, fmt.Errorf("waiting for process %d: %w", p.Pid, err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, ctx.Err()
}
