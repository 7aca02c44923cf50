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
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bowline-dev/bowline/test/bench/report"
	"github.com/bowline-dev/bowline/test/bench/usage"
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
	b := &bench{options: o, failed: cancel}
	if b.bowline, err = filepath.Abs(o.bowline); err != nil {
		return nil, err
	}
	if b.report, err = b.newReport(ctx); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "bowline-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	parts := map[string]func(context.Context) error{
		measureStart: b.measureStart, measureObjects: b.measureObjects, measureCrowd: b.measureCrowd,
		measureDefinitions: b.measureDefinitions, measureKinds: b.measureKinds, measureFloor: b.measureFloors,
		measureTerraform: b.measureTerraform,
	}
	for _, part := range measurable() {
		if !slices.Contains(o.measure, part) {
			continue
		}
		if err := parts[part](ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", err, cause)
			}
			return nil, fmt.Errorf("measuring %s: %w", part, err)
		}
	}
	b.report.AddRatios()
	return b.report, nil
}

// newReport returns a report with the settings that the figures depend on.
func (b *bench) newReport(ctx context.Context) (*report.Report, error) {
	version, err := exec.CommandContext(ctx, b.bowline, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("running %s version: %w", b.bowline, err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	settings := []report.Setting{
		{Name: "version", Value: first},
		{Name: "objects", Value: strconv.Itoa(b.objects)},
		{Name: "rounds", Value: strconv.Itoa(b.rounds)},
		{Name: "latency of the external system", Value: b.latency.String()},
		{Name: "workers of the controller", Value: strconv.Itoa(b.workers)},
		{Name: report.SizeOfCrowd, Value: strconv.Itoa(b.crowd)},
		{Name: report.NumberOfKinds, Value: strconv.Itoa(b.kinds)},
	}
	machine, err := usage.Machine()
	return &report.Report{Settings: append(settings, machine...)}, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// limited limits a phase to far more than it should take.
func (b *bench) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := 2*time.Minute + time.Duration(b.objects)*(100*time.Millisecond+10*b.latency)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %s", limit))
}

// logf logs to standard error.
func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// forEach calls do for each object, several at a time, and returns the first error. It logs how many are done.
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

// logProgress logs from time to time how many objects are done, until stop is called.
func (b *bench) logProgress(ctx context.Context, phase string, done func() int, all int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go wait.UntilWithContext(ctx, func(context.Context) { b.logf("%s: %d of %d", phase, done(), all) }, progressEvery)
	return cancel
}
