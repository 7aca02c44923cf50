// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// What can be measured.
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
			if err := r.WriteTable(cmd.OutOrStdout()); err != nil || o.json == "" {
				return err
			}
			return r.WriteFile(o.json)
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
	cmd.AddCommand(newCompareCommand())
	cmd.CompletionOptions.DisableDefaultCmd = true
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

func newCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "Show two reports side by side, with the changes in percent",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := report.ReadFile(args[0])
			if err != nil {
				return err
			}
			after, err := report.ReadFile(args[1])
			if err != nil {
				return err
			}
			return report.WriteComparison(cmd.OutOrStdout(), before, after)
		},
	}
}
