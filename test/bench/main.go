// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of creating, keeping, updating and deleting many managed resources, and that of the least
// possible requests to the same API server. It prints figures, the ratios to those first, and fails on none.
//
//	make bench N=5000 JSON=after.json
//	make bench-compare REF=v1.0    # that commit and the current tree in turn
//	make bench-report              # writes docs/performance.md
//	bin/bench compare before.json after.json
//	bin/bench --measure crowd,definitions,kinds --crowd 500 --kinds 100
//
// It measures these parts:
//
//	start        bowline up on a new and an existing folder, and at rest
//	floor        the least possible requests
//	objects      creation, polls, single objects, restart, update and deletion of managed resources
//	crowd        new objects, one after the other, while many are polled each minute and the vendor refuses a tenth as many (crowd.go)
//	definitions  memory of the definitions of kinds without objects in an API server without controllers (kinds.go)
//	kinds        memory of such kinds and their controllers in bowline up
//	terraform    objects of a Terraform provider, at most 500: memory of controllers and provider, writes of polls, time to Ready (package bridge)
//
// make bench-compare measures start, definitions and floor of the other commit's bowline with this bench. The other parts depend on the
// runtime in the bench: this bench is compiled in the other commit's tree or, where it does not compile, that commit's own bench measures
// the objects. Figures of the same name are compared; what only one side has is shown without a change.
//
// The API server is `bowline apiserver`. The controllers are this program once more, as `bowline controllers` with the bench's
// provider (vendor.go) and counters around its connections (controllers.go). The provider is written as authors write theirs: four
// functions for package kind, and a ProviderConfig with its credentials in a Secret; only its vendor is in memory. The harness creates
// the objects while the controllers run, and reads from a watch when each is done (objects.go).
//
// A floor is a bare client that knows everything beforehand and sends only the requests that a creation needs, one object after the
// other in each worker (floor.go). The floor of three requests is what no client can do without:
//
//	create the object    of the user
//	create the Secret    with the connection details
//	patch the status     conditions Synced and Ready, and the observation
//
// The floor of six adds what a careful controller must send so that a crash at any moment loses nothing, and people can see what it did:
//
//	create the object    of the user
//	patch the metadata   before the external create: the finalizer, the external name, and that a create is pending
//	create the Secret    with the answer to the create, before the next request records that there is one
//	patch the metadata   after it: the create succeeded
//	create an event      that it was created
//	patch the status     conditions Synced and Ready, and the observation
//
// The same client then updates the objects with three requests (patch of the user, event, status), and deletes them with three (delete of the
// user, event, patch that removes the finalizer).
//
// The figure "everything else: CPU seconds" is the other load of the machine, which distorts the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/test/bench/against"
	"github.com/bowline-dev/bowline/test/bench/page"
	"github.com/bowline-dev/bowline/test/bench/report"
)

func main() {
	journal.Main() // of the controllers that it is, too
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

// What can be measured, in this order: floor and objects one after the other, since the speed of a machine changes within minutes.
const (
	measureStart       = "start"
	measureFloor       = "floor"
	measureObjects     = "objects"
	measureCrowd       = "crowd"
	measureDefinitions = "definitions"
	measureKinds       = "kinds"
	measureTerraform   = "terraform"
)

func measurable() []string {
	return []string{measureStart, measureFloor, measureObjects, measureCrowd, measureDefinitions, measureKinds, measureTerraform}
}

type options struct {
	rounds                    int // how often to measure everything
	objects, workers          int
	latency                   time.Duration
	measure                   []string
	bowline, json, cpuProfile string
	settle, rest              time.Duration // of phases without changes: how long to wait before, and to measure
	floorWorkers              []int         // of the bare client, one after the other
	crowd, kinds              int           // objects that are polled while new ones are created, and kinds without objects
	crowdPoll                 time.Duration // between polls of each object of the crowd
}

func newCommand() *cobra.Command {
	o := options{settle: 15 * time.Second, rest: 20 * time.Second, crowdPoll: time.Minute}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure what managed resources cost", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			var rounds []*report.Report
			for range o.rounds {
				r, err := measure(cmd.Context(), o)
				if err != nil {
					return err
				}
				rounds = append(rounds, r)
			}
			r := report.Mean(rounds)
			if err := report.Write(cmd.OutOrStdout(), r); err != nil || o.json == "" {
				return err
			}
			return r.WriteFile(o.json)
		},
	}
	cmd.PersistentFlags().IntVar(&o.objects, "objects", 1000, "how many managed resources")
	cmd.PersistentFlags().DurationVar(&o.latency, "latency", 0, "how long each call to the external system takes")
	cmd.PersistentFlags().IntVar(&o.workers, "workers", 32, "how many objects the controller reconciles at once; the default is that of providers")
	cmd.PersistentFlags().IntVar(&o.crowd, "crowd", 5000, "how many objects are polled each minute while new ones are created")
	cmd.PersistentFlags().IntVar(&o.kinds, "kinds", 1000, "how many kinds without objects")
	cmd.PersistentFlags().IntSliceVar(&o.floorWorkers, "floor-workers", []int{1, 8, 32}, "how many objects the bare client creates at once; the fastest counts")
	cmd.PersistentFlags().StringSliceVar(&o.measure, "measure", []string{measureStart, measureFloor, measureObjects},
		"what to measure, of "+strings.Join(measurable(), ", "))
	cmd.PersistentFlags().StringVar(&o.bowline, "bowline", "bin/bowline", "the program whose API server is used")
	cmd.Flags().IntVar(&o.rounds, "rounds", 1, "how often to measure; figures are the means")
	cmd.Flags().StringVar(&o.json, "json", "", "file that gets the report as JSON, for compare")
	cmd.Flags().StringVar(&o.cpuProfile, "cpuprofile", "", "folder that gets a profile of the controllers for each phase")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(newCompareCommand(), newAgainstCommand(&o), newPageCommand())
	return cmd
}

func newCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "Show two reports side by side, with the changes in percent",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := report.Read(args[0])
			after, otherErr := report.Read(args[1])
			if err := errors.Join(err, otherErr); err != nil {
				return err
			}
			return report.Write(cmd.OutOrStdout(), before, after)
		},
	}
}

func newAgainstCommand(o *options) *cobra.Command {
	rounds := 2
	cmd := &cobra.Command{
		Use:   "against REF",
		Short: "Measure another commit and this program in turn, and show both side by side",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			ofProgram := []string{measureStart, measureDefinitions, measureFloor}
			runtime := func(part string) bool { return !slices.Contains(ofProgram, part) }
			program := func(part string) bool { return !runtime(part) }
			before, after, err := against.Measure(cmd.Context(), args[0], against.Options{
				Bowline: o.bowline, Rounds: rounds, Flags: flags(cmd.InheritedFlags()),
				Program: slices.DeleteFunc(slices.Clone(o.measure), runtime), Runtime: slices.DeleteFunc(slices.Clone(o.measure), program),
			})
			if before != nil {
				err = errors.Join(report.Write(cmd.OutOrStdout(), before, after), err)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&rounds, "rounds", rounds, "how often to measure both; figures are the means")
	return cmd
}

// flags returns those that every bench of a comparison gets, with their values.
func flags(all *pflag.FlagSet) (flags []string) {
	all.VisitAll(func(f *pflag.Flag) {
		if value := strings.Trim(f.Value.String(), "[]"); f.Name != "bowline" && f.Name != "measure" {
			flags = append(flags, "--"+f.Name+"="+value)
		}
	})
	return flags
}

func newPageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "page REPORT.json FOLDER",
		Short: "Write performance.md and its charts into a folder",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := report.Read(args[0])
			if err != nil {
				return err
			}
			return page.Write(args[1], r)
		},
	}
}

func (o options) validate() error {
	if min(o.rounds, o.objects, o.workers, o.crowd, o.kinds) < 1 || o.latency < 0 {
		return errors.New("--rounds, --objects, --workers, --crowd and --kinds must be at least 1, and --latency not negative")
	}
	if len(o.floorWorkers) == 0 || slices.Min(o.floorWorkers) < 1 {
		return errors.New("--floor-workers must be numbers of at least 1")
	}
	for _, what := range o.measure {
		if !slices.Contains(measurable(), what) {
			return fmt.Errorf("--measure knows %v, not %q", measurable(), what)
		}
	}
	if _, err := os.Stat(o.bowline); err != nil {
		return fmt.Errorf("finding the program to measure: %w; build it with: make build", err)
	}
	return nil
}
