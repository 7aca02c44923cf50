// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts the programs that are measured, and reads from Linux what they use.
//
// A program counts as started when it says so on its standard output; it ends when it is told to, and everybody hears of
// it if it ends before.
//
//	p, err := process.Start(ctx, process.Config{Args: []string{"bowline", "apiserver"}, Ready: "is ready", Log: log, Failed: cancel})
//	meter, err := process.Measure(p.PID())
//	...
//	usage, err := meter.Stop()
//	err = p.Stop()
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = time.Minute      // for a program to say that it is ready
	stopLimit  = 20 * time.Second // for a program to end when it is told to, before it is killed
)

// Config says how to start a program.
type Config struct {
	// Args are the program and its arguments.
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Ready is what a line of its standard output contains when it is ready.
	Ready string
	// Log is the file that gets what it writes to its standard error.
	Log *os.File
	// Failed is told if it ends after it was ready and without being told to. Required.
	Failed func(error)
}

// A Process is a program that runs.
type Process struct {
	name     string
	cmd      *exec.Cmd
	log      *os.File
	stopping chan struct{}
	ended    chan struct{} // closed when err is set
	err      error
}

// Start starts a program and returns when it is ready. The end of ctx ends only the waiting.
func Start(ctx context.Context, c Config) (*Process, error) {
	p := &Process{name: strings.Join(append([]string{filepath.Base(c.Args[0])}, c.Args[1:min(2, len(c.Args))]...), " "), log: c.Log,
		cmd: exec.Command(c.Args[0], c.Args[1:]...), stopping: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), c.Env...), c.Log
	// A group of its own: Ctrl-C is for this process, which stops the others in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	ready := make(chan struct{})
	go p.attend(stdout, c.Ready, ready)
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	select {
	case <-ready:
		go p.guard(c.Failed)
		return p, nil
	case <-p.ended:
		return nil, p.died()
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("starting %s: %w", p.name, context.Cause(ctx)), p.Stop())
	}
}

// attend reads all output, tells when it says ready, and waits for the end.
func (p *Process) attend(stdout io.Reader, word string, ready chan<- struct{}) {
	lines := bufio.NewScanner(stdout)
	for said := false; lines.Scan(); {
		if !said && strings.Contains(lines.Text(), word) {
			said = true
			close(ready)
		}
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *Process) guard(failed func(error)) {
	<-p.ended
	select {
	case <-p.stopping:
	default:
		failed(p.died())
	}
}

// died explains an end that nobody asked for.
func (p *Process) died() error {
	const tail = 2000
	text, _ := os.ReadFile(p.log.Name())
	return fmt.Errorf("%s ended unexpectedly (%v); the end of its log:\n%s", p.name, p.err, text[max(0, len(text)-tail):])
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the process to end and waits until it has; one that does not obey is killed, which is an error. Calls after
// the first do nothing.
func (p *Process) Stop() error {
	select {
	case <-p.stopping:
		return nil
	default:
		close(p.stopping)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopLimit):
	}
	err := p.cmd.Process.Kill()
	<-p.ended
	return errors.Join(fmt.Errorf("%s did not stop within %s and was killed", p.name, stopLimit), err)
}
