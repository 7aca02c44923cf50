// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of creating, keeping, updating and deleting many managed resources, and that of the least
// possible requests to the same API server. It prints figures and fails on none.
//
//	make bench N=5000 JSON=after.json
//	go run ./test/bench compare before.json after.json
//
// The API server is `bowline apiserver`, in a process of its own. The controllers are `bowline controllers`, in a process
// of their own too: this program started once more as that command, with a vendor in memory as its only provider (vendor.go) and
// counters around its connections (controllers.go). The harness creates the objects while the controllers run, and reads
// from a watch when each is done (objects.go). The floor is a bare client that sends only the requests that every
// creation needs, one object after the other in each worker (floor.go).
//
// Processor time and memory come from the kernel (Linux only). The figure "everything else: CPU seconds" is the other load of the
// machine, which distorts the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
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
	objects    int
	latency    time.Duration
	workers    int
	measure    []string
	bowline    string
	json       string
	cpuProfile string
}

func newCommand() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:           "bench",
		Short:         "Measure what managed resources cost",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			r, err := measure(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := r.writeTable(cmd.OutOrStdout()); err != nil || o.json == "" {
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
			return writeComparison(cmd.OutOrStdout(), before, after)
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
