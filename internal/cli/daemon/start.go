// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemon starts this program again in the background, and stops the server of a data folder.
//
// The background process writes its welcome when it is ready, through a pipe of which it finds the number in its environment;
// Start returns that text, or the end of the log if the process ends before.
package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute // a cold, busy machine needs some seconds
	maxLogSize   = 10 << 20
	logTail      = 4 << 10 // bytes of the log in the error of a failed start
	// readyVariable is the environment variable with the number of the file to which a background process writes its welcome.
	readyVariable = "BOWLINE_READY_FD"
	readyFD       = 3 // the first of exec.Cmd.ExtraFiles
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
	log, err := openLog(c.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
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
func (c Command) spawn(ctx context.Context, log *os.File) ([]byte, error) {
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
	cmd.Env = append(os.Environ(), readyVariable+"="+strconv.Itoa(readyFD))
	cmd.Stdout, cmd.Stderr = log, log
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

// openLog opens the log for appending. A large log becomes PATH.1, in place of an older one.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotating log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	return f, nil
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
