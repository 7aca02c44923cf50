// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
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

// Close stops watching the process and does not end it.
func (p *Process) Close() {
	_ = p.pidfd.Close() // A pidfd has nothing to flush. It may be closed already.
}

// Info is the data of /proc about a process.
type Info struct {
	Command string    // the name of the program, at most 15 characters
	Args    []string  // the arguments, the program first. A process may have overwritten them.
	Dir     string    // the working directory; empty when this process may not read it, as often root in a container
	Started time.Time // when the process started, by the current clock: it moves when the clock is set
}

// Inspect returns the data of /proc. The error is ErrEnded when the process has ended.
func (p *Process) Inspect() (Info, error) {
	info, err := inspect(p.pid)
	if p.Signal(0) != nil { // A zombie counts as alive.
		return Info{}, ErrEnded // The data may be that of the next process with this pid.
	}
	if err != nil {
		return Info{}, fmt.Errorf("inspecting process %d: %w", p.pid, err)
	}
	return info, nil
}

// IsStopped reports whether all threads of the process are stopped, as after SIGSTOP. The error is ErrEnded when the process has ended.
func (p *Process) IsStopped() (bool, error) {
	threads, err := procfs.AllThreads(p.pid)
	running := slices.ContainsFunc(threads, func(thread procfs.Proc) bool {
		stat, err := thread.Stat()
		return err == nil && stat.State != "T" // or it has ended
	})
	if p.Signal(0) != nil {
		return false, ErrEnded
	}
	return !running, err
}

func inspect(pid int) (Info, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return Info{}, err
	}
	stat, statErr := proc.Stat()
	args, argsErr := proc.CmdLine()
	if err := errors.Join(statErr, argsErr); err != nil {
		return Info{}, err
	}
	started, err := stat.StartTime()
	if err != nil {
		return Info{}, err
	}
	dir, err := proc.Cwd()
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	return Info{
		Command: stat.Comm, Args: args, Dir: strings.TrimSuffix(dir, " (deleted)"),
		Started: time.UnixMilli(int64(started * 1000)),
	}, nil
}

// processesIn opens every process that runs one of the programs and works in the folder: its working directory or one of its
// arguments lies there. folder must be free of symbolic links. The caller closes the processes, also after an error.
func processesIn(folder string, programs ...string) ([]*Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []*Process
	for _, candidate := range all {
		// Most processes run another program and are skipped after one short read.
		command, err := candidate.Comm()
		if err != nil || candidate.PID == os.Getpid() || !slices.Contains(programs, command) {
			continue
		}
		p, err := Open(candidate.PID)
		if errors.Is(err, ErrEnded) {
			continue
		}
		if err != nil {
			return found, err
		}
		if info, err := p.Inspect(); err != nil || !worksIn(info, folder, programs) {
			p.Close()
			continue
		}
		found = append(found, p)
	}
	return found, nil
}

func worksIn(info Info, folder string, programs []string) bool {
	isWithin := func(path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
	return slices.Contains(programs, info.Command) && (isWithin(info.Dir) || slices.ContainsFunc(info.Args, isWithin))
}
