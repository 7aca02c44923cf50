// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemon starts this program again in the background, and stops the server of a data folder.
//
// The background process writes its welcome when it is ready, through a pipe of which it finds the number in its environment;
// Start returns that text, or the end of the log if the process ends before.
package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/logs"
)

const (
	startTimeout = 2 * time.Minute // a cold, busy machine needs some seconds
	logTail      = 4 << 10         // bytes of the log in the error of a failed start
	// readyVariable is the environment variable with the number of the file to which a background process writes its welcome.
	readyVariable = "BOWLINE_READY_FD"
	readyFD       = 3                  // the first of exec.Cmd.ExtraFiles
	logVariable   = "BOWLINE_LOG_FILE" // with the file to which a background process writes its log
)

// A Command describes a background process.
type Command struct {
	Name string   // of the program in its own texts, so that its welcome can be typed
	Args []string // without the name
	Log  string   // file to which its output is appended
}

// Start runs this program again in a session of its own and returns its welcome. If the process is not ready in time, or ctx
// ends before, Start ends it and returns an error with the end of its log.
func Start(ctx context.Context, c Command) ([]byte, error) {
	log, err := logs.OpenFile(c.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	begin, err := log.Size()
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	welcome, err := c.spawn(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("starting in the background: %w", err)
	}
	if len(welcome) > 0 {
		return welcome, nil
	}
	reason := "the process ended before it was ready"
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		reason = fmt.Sprintf("the process was not ready after %s and was stopped", startTimeout)
	case ctx.Err() != nil:
		reason = "interrupted"
	}
	return nil, fmt.Errorf("starting in the background: %s; the end of %s:\n%s", reason, c.Log, tail(c.Log, begin))
}

// spawn returns the welcome of the background process, empty if the process ended before it was ready.
func (c Command) spawn(ctx context.Context, log *logs.File) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := exec.Command(program, c.Args...)
	cmd.Args[0] = c.Name
	cmd.Dir = "/" // a background process must not keep a file system from being unmounted
	cmd.Env = append(os.Environ(), readyVariable+"="+strconv.Itoa(readyFD), logVariable+"="+c.Log)
	log.Attach(cmd)
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails only if the process ended by itself
		time.AfterFunc(killTimeout, func() { _ = cmd.Process.Kill() })
	})()
	welcome, err := io.ReadAll(read) // ends when the process has written it, or has ended
	if err != nil || len(welcome) > 0 {
		return welcome, err
	}
	_ = cmd.Wait() // the log has the cause; the exit code adds nothing
	return nil, nil
}

// tail returns the end of a file in whole lines, but nothing from before the given offset.
func tail(path string, begin int64) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		return []byte("(" + err.Error() + ")")
	}
	content = content[min(begin, int64(len(content))):]
	if cut := len(content) - logTail; cut > 0 {
		content = content[cut:]
		if newline := bytes.IndexByte(content, '\n'); newline >= 0 {
			content = content[newline+1:]
		}
	}
	return bytes.TrimRight(content, "\n")
}

// LogWriter returns where a server writes its log: err, or in the background its log file, which is rotated.
func LogWriter(err io.Writer) (io.Writer, error) {
	path, ok := os.LookupEnv(logVariable)
	if !ok {
		return err, nil
	}
	if err := os.Unsetenv(logVariable); err != nil { // programs that this one starts do not inherit it
		return nil, fmt.Errorf("clearing %s: %w", logVariable, err)
	}
	return logs.OpenFile(path, syscall.Stdout, syscall.Stderr)
}

// ReadyWriter returns where a server writes its welcome: out, or the pipe to the process that called Start. Closing it completes
// the welcome; the pipe also closes with the process.
func ReadyWriter(out io.Writer) (io.WriteCloser, error) {
	value, ok := os.LookupEnv(readyVariable)
	if !ok {
		return nopCloser{out}, nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", readyVariable, err)
	}
	// Programs that this one starts inherit neither the variable nor the file.
	if err := os.Unsetenv(readyVariable); err != nil {
		return nil, fmt.Errorf("clearing %s: %w", readyVariable, err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "ready"), nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// StopTimeout is how long a server may take to stop before it is killed: the cloud's database servers write their data.
const StopTimeout = 60 * time.Second

const (
	killTimeout  = 10 * time.Second
	stopInterval = 2 * time.Second // between messages of progress
)

// A Process is a server in another process. It is held by a handle (pidfd), so that a signal never reaches a process that
// reuses its number.
type Process struct{ *os.Process }

// Find returns the server of a data folder, nil if none runs. Release frees it. It waits for a server that has the lock and has not
// written its id yet, or has removed it, at most for killTimeout.
func Find(ctx context.Context, dataDir string) (*Process, error) {
	pid, ok := controlplane.Holder(dataDir)
	for begin := time.Now(); ok && pid == 0; pid, ok = controlplane.Holder(dataDir) {
		if ctx.Err() != nil || time.Since(begin) > killTimeout {
			return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("a server is just starting or stopping on %s; try again", dataDir))
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !ok {
		return nil, nil
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
