// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/test/bench/report"
)

// progressEvery is how often a phase logs its progress.
const progressEvery = 5 * time.Second

// A bench is one run of the harness.
type bench struct {
	options
	report *report.Report
	dir    string      // of all files of the run, removed at its end
	failed func(error) // ends the run, because a process ended
}

// measure measures what the options select. It leaves no process and no folder behind.
func measure(ctx context.Context, o options) (r *report.Report, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &bench{options: o, failed: func(err error) { cancel(err) }}
	if b.bowline, err = filepath.Abs(o.bowline); err != nil {
		return nil, err
	}
	settings, err := b.settings(ctx)
	if err != nil {
		return nil, err
	}
	b.report = report.New(settings...)
	if b.dir, err = os.MkdirTemp("", "bowline-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	parts := map[string]func(context.Context) error{
		measureStart: b.measureStart, measureObjects: b.measureObjects, measureFloor: b.measureFloors,
	}
	for _, what := range []string{measureStart, measureObjects, measureFloor} {
		if !slices.Contains(o.measure, what) {
			continue
		}
		if err := parts[what](ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", err, cause)
			}
			return nil, fmt.Errorf("measuring %s: %w", what, err)
		}
	}
	b.compareWithFloor()
	return b.report, nil
}

// settings returns what the figures depend on.
func (b *bench) settings(ctx context.Context) ([]report.Setting, error) {
	version, err := exec.CommandContext(ctx, b.bowline, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("running %s version: %w", b.bowline, err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	return []report.Setting{
		{Name: "version", Value: first},
		{Name: "objects", Value: strconv.Itoa(b.objects)},
		{Name: "latency of the external system", Value: b.latency.String()},
		{Name: "workers of the controller", Value: strconv.Itoa(b.workers)},
		{Name: "processors", Value: strconv.Itoa(runtime.NumCPU())},
		{Name: "load before the run", Value: strings.Join(strings.Fields(string(load))[:1], "")},
	}, nil
}

// start starts a program that logs into dir and keeps its other files there too.
func (b *bench) start(ctx context.Context, dir, ready string, env []string, args ...string) (*process.Process, *os.File, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, nil, err
	}
	p, err := process.Start(ctx, process.Config{
		Args: args, Env: append(env, "HOME="+b.dir, "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR="), Ready: ready, Log: log, Failed: b.failed, Detached: true,
	})
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return p, log, nil
}

// limited limits a phase to far more than it should take.
func (b *bench) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := 2*time.Minute + time.Duration(b.objects)*(100*time.Millisecond+10*b.latency)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %s", limit))
}

// say logs to standard error.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// tell logs from time to time how many objects are done, until stop is called.
func (b *bench) tell(phase string, done func() int) (stop func()) {
	b.say("%s: %d objects", phase, b.objects)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				b.say("%s: %d of %d", phase, done(), b.objects)
			}
		}
	}()
	return func() { close(end); <-ended }
}

// forEach calls do for each object, several at a time, and returns the first error.
func (b *bench) forEach(ctx context.Context, workers int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range b.objects {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
