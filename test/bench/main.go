// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of creating, keeping, updating and deleting many managed resources, and that of the least
// possible requests to the same API server. It prints figures and fails on none.
//
//	make bench N=5000 JSON=after.json
//	go run ./test/bench compare before.json after.json
//
// The API server is `bowline apiserver`. The controllers are this program once more, as `bowline controllers` with a vendor in
// memory as its only provider (vendor.go) and counters around its connections (controllers.go). The harness creates the objects
// while the controllers run, and reads from a watch when each is done (objects.go). The floor is a bare client that sends only
// the requests that every creation needs, one object after the other in each worker (floor.go).
//
// The figure "everything else: CPU seconds" is the other load of the machine, which distorts the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/testkit/process"
)

func main() {
	if settings := os.Getenv(settingsVariable); settings != "" {
		os.Exit(runControllers(settings))
	}
	ctrl.SetLogger(logr.Discard()) // of the harness's watch
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// What can be measured, in this order.
const (
	measureStart   = "start"
	measureObjects = "objects"
	measureFloor   = "floor"
)

type options struct {
	objects, workers          int
	latency                   time.Duration
	measure                   []string
	bowline, json, cpuProfile string
}

func newCommand() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure what managed resources cost", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			r, err := measure(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := writeReports(cmd.OutOrStdout(), r); err != nil || o.json == "" {
				return err
			}
			return r.writeFile(o.json)
		},
	}
	cmd.SetOut(os.Stdout)
	cmd.Flags().IntVar(&o.objects, "objects", 1000, "how many managed resources")
	cmd.Flags().DurationVar(&o.latency, "latency", 0, "how long each call to the external system takes")
	cmd.Flags().IntVar(&o.workers, "workers", 10, "how many objects the controller reconciles at once")
	cmd.Flags().StringSliceVar(&o.measure, "measure", []string{measureStart, measureObjects, measureFloor}, "what to measure")
	cmd.Flags().StringVar(&o.bowline, "bowline", "bin/bowline", "the program whose API server is used")
	cmd.Flags().StringVar(&o.json, "json", "", "file that gets the report as JSON, for compare")
	cmd.Flags().StringVar(&o.cpuProfile, "cpuprofile", "", "folder that gets a profile of the controllers for each phase")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(&cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "Show two reports side by side, with the changes in percent",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := readReport(args[0])
			if err != nil {
				return err
			}
			after, err := readReport(args[1])
			if err != nil {
				return err
			}
			return writeReports(cmd.OutOrStdout(), before, after)
		},
	})
	return cmd
}

func (o options) validate() error {
	if o.objects < 1 || o.workers < 1 || o.latency < 0 {
		return errors.New("--objects and --workers must be at least 1, and --latency not negative")
	}
	known := []string{measureStart, measureObjects, measureFloor}
	for _, what := range o.measure {
		if !slices.Contains(known, what) {
			return fmt.Errorf("--measure knows %v, not %q", known, what)
		}
	}
	if _, err := os.Stat(o.bowline); err != nil {
		return fmt.Errorf("finding the program to measure: %w; build it with: make build", err)
	}
	return nil
}

const (
	progressEvery = 5 * time.Second  // how often a phase logs its progress
	idleTime      = 10 * time.Second // how long phases without changes last
)

// A bench is one run of the harness.
type bench struct {
	options
	report *report
	dir    string      // of all files of the run, removed at its end
	failed func(error) // ends the run, because a process ended
}

// measure measures what the options select. It leaves no process and no folder behind.
func measure(ctx context.Context, o options) (r *report, err error) {
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
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{measureStart, b.measureStart}, {measureObjects, b.measureObjects}, {measureFloor, b.measureFloors}} {
		if !slices.Contains(o.measure, part.name) {
			continue
		}
		if err := part.measure(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", err, cause)
			}
			return nil, fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	b.compareWithFloor()
	return b.report, nil
}

// newReport returns a report with the settings that the figures depend on.
func (b *bench) newReport(ctx context.Context) (*report, error) {
	version, err := exec.CommandContext(ctx, b.bowline, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("running %s version: %w", b.bowline, err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	load, err := os.ReadFile("/proc/loadavg")
	before, _, _ := strings.Cut(string(load), " ")
	return &report{Settings: []setting{
		{"version", first},
		{"objects", strconv.Itoa(b.objects)},
		{"latency of the external system", b.latency.String()},
		{"workers of the controller", strconv.Itoa(b.workers)},
		{"processors", strconv.Itoa(runtime.NumCPU())},
		{"load before the run", before},
	}}, err
}

// measureStart measures `bowline up`: how soon it is ready on a new data folder and again on the same one, and what it
// needs until then and while there is nothing to do.
func (b *bench) measureStart(ctx context.Context) error {
	b.logf("start: bowline up, twice, then %s of rest", idleTime)
	dir, err := os.MkdirTemp(b.dir, "up-")
	if err != nil {
		return err
	}
	if err := b.up(ctx, dir, "seconds to ready on a new folder", nil); err != nil {
		return err
	}
	return b.up(ctx, dir, "seconds to ready again", b.rest)
}

func (b *bench) up(ctx context.Context, dir, figure string, then func(context.Context, *process.Process) error) error {
	begin := time.Now()
	p, err := process.Start(ctx, process.Config{
		Args: []string{b.bowline, "up", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"},
		Dir:  dir, Ready: "Bowline is ready", Failed: b.failed, Detached: true,
	})
	if err != nil {
		return err
	}
	b.report.add(measureStart, figure, time.Since(begin).Seconds())
	used, err := readUsage(p.PID()) // which does not depend on what else the machine does
	b.report.add(measureStart, "CPU "+figure, used.cpu)
	if err == nil && then != nil {
		err = then(ctx, p)
	}
	return errors.Join(err, p.Stop())
}

// rest leaves the program alone until the garbage of its start is given back, then reads what it needs.
func (b *bench) rest(ctx context.Context, p *process.Process) error {
	before, err := readUsage(p.PID())
	if err != nil {
		return err
	}
	if err := sleep(ctx, idleTime); err != nil {
		return err
	}
	after, err := readUsage(p.PID())
	b.report.add(measureStart, "MB resident at rest", after.resident)
	b.report.add(measureStart, "MB anonymous at rest", after.anonymous)
	b.report.add(measureStart, "CPU seconds per second of rest", (after.cpu-before.cpu)/idleTime.Seconds())
	return err
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
func (b *bench) logProgress(ctx context.Context, phase string, done func() int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go wait.UntilWithContext(ctx, func(context.Context) { b.logf("%s: %d of %d", phase, done(), b.objects) }, progressEvery)
	return cancel
}
