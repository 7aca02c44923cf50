// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command workloads proves that applications recover from a crash at every request of every operation, to the API server and to the
// cluster: nothing is left over, doubled or lost there (N94).
//
//	go run ./test/crashpoints/workloads
//	go run ./test/crashpoints/workloads --operation prune --point 3
//
// It does for applications what command crashpoints does for managed resources and claims, and `make crashpoints` runs both: a process is a
// manager with the real controllers and without memory, and the two API servers are real. It is also frozen after a request until another
// process has finished the operation, then goes on without its lease (N87). The last line is the summary; the exit code is 0 without a
// violation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/pkg/core"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	good, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "workloads:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run is the program. Its last line of output is the summary.
func run(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	flags := flag.NewFlagSet("workloads", flag.ContinueOnError)
	operation := flags.String("operation", "", "try this operation only: "+strings.Join(names(), ", "))
	point := flags.Int("point", 0, "try this point only, by the numbers that a violation shows")
	parallel := flags.Int("parallel", 4, "how many attempts to run at a time")
	bowline := flags.String("bowline", filepath.Join("bin", "bowline"), "the program whose API servers are used")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	ctrl.SetLogger(logr.Discard()) // a crashed process logs many errors
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "crashpoints-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	definitions, err := core.Provider().Definitions()
	if err != nil {
		return false, err
	}
	configs := make([]*rest.Config, 2)
	for i := range configs {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return false, err
		}
		failed := func(err error) { fmt.Fprintln(os.Stderr, "workloads:", err) }
		server, err := process.StartAPIServer(ctx, *bowline, folder, failed, definitions[:len(definitions)*(1-i)]...)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		configs[i] = server.Config
	}
	h := &harness{config: configs[0], cluster: configs[1], out: out, only: *point, slots: make(chan struct{}, max(1, *parallel))}
	err = h.run(ctx, *operation)
	fmt.Fprintf(out, "crash points of applications: %d tried, violations=%d\n", h.tried, h.violations)
	return err == nil && h.tried > 0 && h.violations == 0, err
}

// A harness runs operations, several attempts at a time.
type harness struct {
	config, cluster *rest.Config
	out             io.Writer
	only            int
	slots           chan struct{}

	mu                sync.Mutex
	tried, violations int
}

func (h *harness) run(ctx context.Context, only string) (err error) {
	for _, o := range operations() {
		if only != "" && only != o.name {
			continue
		}
		order, missed, exploreErr := scenario.Explorer{
			Run:    func(t scenario.Trial) (bool, error) { return h.trial(ctx, o, t) },
			Points: (*fault.Process).Order,
			Kinds:  func(request string) []fault.Kind { return append(fault.Kinds(request, false), fault.Frozen) },
			Only:   h.only, Attempts: 3, Parallel: true,
		}.Explore()
		err = errors.Join(err, exploreErr)
		fmt.Fprintf(h.out, "%s: %d points, %d faults were not reached\n", o.name, len(order), len(missed))
	}
	return err
}

func (h *harness) trial(ctx context.Context, o operation, t scenario.Trial) (good bool, err error) {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	a, err := h.begin(ctx)
	if err != nil {
		return false, err
	}
	why, err := a.run(ctx, o, t.Process)
	if err := errors.Join(err, a.end(ctx)); err != nil {
		return false, err
	}
	if why == nil && !t.Process.Reached() {
		return true, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried++
	if why != nil {
		h.violations++
		fmt.Fprintf(h.out, "VIOLATION: %s, %s: %v\n  without a fault: %s\n  this time:       %s\n", o.name, t, why, fault.Numbered(t.Order), t.Process)
	}
	return why == nil, nil
}
