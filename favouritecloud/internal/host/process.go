// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrEnded reports that the process does not exist or has ended.
var ErrEnded = errors.New("process has ended")

// Process is one running or ended process. Close it to stop watching it.
type Process struct {
	pid    int
	pidfd  *os.File
	child  *exec.Cmd // nil unless the process was started by Start
	exited chan struct{}
	closed atomic.Bool
}

// Start starts cmd and watches it. The child is reaped when it ends.
func Start(cmd *exec.Cmd) (*Process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p, err := open(cmd.Process.Pid, cmd) // The pid cannot be reused before the child is reaped.
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // Reaps the child.
		return nil, err
	}
	return p, nil
}

// Open watches the process with the given pid. The error is ErrEnded when there is none.
func Open(pid int) (*Process, error) { return open(pid, nil) }

func open(pid int, child *exec.Cmd) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil, ErrEnded
	}
	if err != nil {
		return nil, fmt.Errorf("opening process %d: %w", pid, err)
	}
	p := &Process{pid: pid, pidfd: os.NewFile(uintptr(fd), "pidfd"), child: child, exited: make(chan struct{})}
	go p.watch()
	return p, nil
}

// watch waits in the runtime's poller: a watched process needs a goroutine and no thread.
func (p *Process) watch() {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return
	}
	if err := conn.Read(isReadable); err != nil {
		return // Close was called first.
	}
	if p.child != nil {
		_ = p.child.Wait() // Reaps the child; the cause of its end is in its log.
	}
	close(p.exited)
}

func isReadable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.pid }

// Exited is closed when the process has ended. After Close it may never be closed.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Wait returns nil when the process has ended, else the error of ctx.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Signal sends sig. The error is ErrEnded when the process has ended.
func (p *Process) Signal(sig unix.Signal) error {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return fmt.Errorf("signalling process %d: %w", p.pid, err)
	}
	var failure error
	err = conn.Control(func(fd uintptr) { failure = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	if errors.Is(failure, unix.ESRCH) {
		return ErrEnded
	}
	if err := errors.Join(err, failure); err != nil {
		return fmt.Errorf("signalling process %d: %w", p.pid, err)
	}
	return nil
}

// alive reports whether the process still runs. A zombie counts as alive.
func (p *Process) alive() bool { return p.Signal(0) == nil }

// Close stops watching the process and does not end it.
func (p *Process) Close() {
	if p.closed.CompareAndSwap(false, true) {
		_ = p.pidfd.Close() // A pidfd has nothing to flush.
	}
}
