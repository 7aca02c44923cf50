// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts the programs that tests and benchmarks run, and stops or kills them.
//
// A program is started when it prints a word to its standard output. An unexpected exit is reported with the end of its log.
//
//	p, err := process.Start(ctx, process.Config{Args: []string{"bowline", "up"}, Ready: "is ready", Dir: dir})
//	...
//	err = p.Kill() // as kill -9 does
package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/crd"
)

const (
	startLimit = time.Minute      // until a program is ready, by default
	stopLimit  = 20 * time.Second // from the signal to the exit, before the program is killed
)

// A Config describes a program.
type Config struct {
	// Args are the program and its arguments.
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Dir is the home of the program. Its standard error is appended to the file log there.
	Dir string
	// Ready is part of the line that the program prints to its standard output when it is ready.
	Ready string
	// Check returns nil when the program is ready, for those that do not print it.
	Check func(context.Context) error
	// Limit is how long the program may take until it is ready. Default: a minute.
	Limit time.Duration
	// Failed is called if the program ends after it was ready, without Stop or Kill. Optional.
	Failed func(error)
	// Detached programs have a process group of their own: Ctrl-C reaches this process only, which stops them in order.
	Detached bool
}

// A Process is a program that runs.
type Process struct {
	name     string
	cmd      *exec.Cmd
	log      string // the path of its file
	stopping sync.Once
	asked    chan struct{} // closed by Stop and Kill
	exited   chan struct{} // closed when printed and err are set
	printed  strings.Builder
	err      error
}

// Environment of a program that keeps its files in a folder.
func Environment(dir string) []string {
	return []string{"HOME=" + dir, "XDG_RUNTIME_DIR=", "XDG_CACHE_HOME="}
}

// Start starts a program and returns when it is ready. The end of ctx ends only the wait.
func Start(ctx context.Context, c Config) (*Process, error) {
	p := &Process{
		name: strings.Join(append([]string{filepath.Base(c.Args[0])}, c.Args[1:min(2, len(c.Args))]...), " "),
		cmd:  exec.Command(c.Args[0], c.Args[1:]...), log: filepath.Join(c.Dir, "log"), asked: make(chan struct{}), exited: make(chan struct{}),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	defer log.Close()
	p.cmd.Env, p.cmd.Stderr = append(append(os.Environ(), Environment(c.Dir)...), c.Env...), log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.Detached}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	ready := make(chan struct{})
	go p.read(stdout, c.Ready, ready)
	limit := cmp.Or(c.Limit, startLimit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	checked := make(chan error, 1)
	if c.Check != nil {
		go func() { checked <- testkit.Poll(ctx, func() error { return c.Check(ctx) }) }()
	} else {
		context.AfterFunc(ctx, func() { checked <- context.Cause(ctx) })
	}
	select {
	case <-ready:
	case err = <-checked:
	case <-p.exited:
		return nil, p.unexpected()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: not ready after %s: %w; the end of its log:\n%s", p.name, limit, err, p.Log()), p.Stop())
	}
	go p.watch(c.Failed)
	return p, nil
}

// read drains the output, since a program that cannot write is blocked or ended, and waits for the exit.
func (p *Process) read(stdout io.Reader, word string, ready chan<- struct{}) {
	isReady := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch {
		case isReady:
		case word != "" && strings.Contains(lines.Text(), word):
			isReady = true
			close(ready)
		default:
			p.printed.WriteString(lines.Text() + "\n")
		}
	}
	p.err = p.cmd.Wait()
	close(p.exited)
}

func (p *Process) watch(failed func(error)) {
	<-p.exited
	select {
	case <-p.asked:
	default:
		if failed != nil {
			failed(p.unexpected())
		}
	}
}

// unexpected describes an exit that was not asked for.
func (p *Process) unexpected() error {
	return fmt.Errorf("%s ended unexpectedly (%v); it printed:\n%sthe end of its log:\n%s", p.name, p.err, p.printed.String(), p.Log())
}

// Log returns the end of what the process logged.
func (p *Process) Log() string {
	const tail = 4000
	all, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(all[max(0, len(all)-tail):])
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process as kill -9 does, and waits for its exit.
func (p *Process) Kill() error {
	p.stopping.Do(func() { close(p.asked) })
	return p.kill()
}

func (p *Process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.exited
	return nil
}

// Stop sends SIGTERM and waits for the exit. A process that does not end in time is killed, which is an error. Calls after the
// first, or after Kill, do nothing.
func (p *Process) Stop() (err error) {
	p.stopping.Do(func() {
		close(p.asked)
		err = p.stop()
	})
	return err
}

func (p *Process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("%s did not stop within %s and was killed", p.name, stopLimit), p.kill())
	}
}

// An APIServer is the API server of a bowline program, without controllers.
type APIServer struct {
	*Process

	// Config is an administrator's, with any number of requests and without warnings.
	Config *rest.Config
	// Kubeconfig is the path of the same as a file.
	Kubeconfig string
}

// StartAPIServer starts `bowline apiserver` in a folder, and applies the definitions.
func StartAPIServer(ctx context.Context, bowline, dir string, failed func(error), definitions ...*apiextensionsv1.CustomResourceDefinition) (
	*APIServer, error) {
	data := filepath.Join(dir, "data")
	p, err := Start(ctx, Config{
		Args: []string{bowline, "apiserver", "--data-dir", data, "--listen", "127.0.0.1:0"},
		Dir:  dir, Ready: "The API server is ready", Failed: failed, Detached: true,
	})
	if err != nil {
		return nil, err
	}
	s := &APIServer{Process: p, Kubeconfig: filepath.Join(data, "admin.kubeconfig")}
	if s.Config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig); err == nil {
		s.Config.QPS, s.Config.WarningHandlerWithContext = -1, rest.NoWarnings{}
		_, err = crd.Apply(ctx, s.Config, definitions...)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return s, nil
}
