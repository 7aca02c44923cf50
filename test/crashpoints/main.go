// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

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
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/testkit/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	good, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run is the program. Its last line of output is the summary, if anything was tried.
func run(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	var chosen choice
	flags := flag.NewFlagSet("crashpoints", flag.ContinueOnError)
	flags.StringVar(&chosen.kind, "kind", "", "try this kind only, such as NodeGroup")
	flags.StringVar(&chosen.operation, "operation", "", "try this operation only, such as create")
	flags.IntVar(&chosen.point, "point", 0, "try this point only, by the numbers that a violation shows")
	flags.BoolVar(&chosen.faults, "faults", false, "also refuse each change, and write as another client right before it")
	parallel := flags.Int("parallel", 4, "how many attempts to run at a time")
	bowline := flags.String("bowline", filepath.Join("bin", "bowline"), "the program whose API server is used")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *parallel < 1 || chosen.point < 0 || flags.NArg() > 0 {
		return false, errors.New("give --parallel a number of 1 or more, --point one of 0 or more, and nothing but flags")
	}
	ctrl.SetLogger(logr.Discard()) // a crashed process logs many errors
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "crashpoints-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the cloud's servers may run as another account
		return false, err
	}
	c, err := startCloud(filepath.Join(dir, "cloud"))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	crds, err := definitions()
	if err != nil {
		return false, err
	}
	// After a failure of the server all further attempts fail and report it.
	failed := func(err error) { fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err) }
	server, err := process.StartAPIServer(ctx, *bowline, dir, failed, crds...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	h, err := newHarness(ctx, server.Config, c, *parallel, out)
	if err != nil {
		return false, err
	}
	err = errors.Join(h.run(ctx, chosen), h.close(ctx))
	line, good := h.summary()
	fmt.Fprintln(out, line)
	return good, err
}
