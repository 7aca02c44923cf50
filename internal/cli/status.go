// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane"
)

// status is what `bowline status -o json` prints; its keys are an interface.
type status struct {
	Running bool       `json:"running"`
	PID     int        `json:"pid"`     // 0 when down
	Since   *time.Time `json:"since"`   // when it was ready; null when down or still starting
	Address string     `json:"address"` // host:port of the API server; empty when down or still starting
	Version string     `json:"version"` // of the server; empty when down or still starting
	Objects []objects  `json:"objects"` // every kind of category "managed", sorted
}

// objects counts the objects of one kind.
type objects struct {
	Kind   string `json:"kind"` // with the group after a dot when two groups have a kind of that name
	Total  int    `json:"total"`
	Ready  int    `json:"ready"`  // with condition Ready True
	Synced int    `json:"synced"` // with condition Synced True
}

func newStatusCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs and what it manages",
		Long: `Shows whether a server runs, and how many objects of each kind it manages. The exit code is 1 when none runs or when the
one that runs does not answer.`,
		Example: `  bowline status
  bowline status -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, ok := statusWriters()[output]
			if !ok {
				return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("unknown output %q; there are json and yaml", output)}
			}
			dataDir, err := folder.client()
			if err != nil {
				return err
			}
			s, problem := readStatus(cmd.Context(), dataDir)
			if err := write(std.Out, dataDir, s); err != nil {
				return fmt.Errorf("writing status: %w", err)
			}
			if problem != nil {
				return problem
			}
			if !s.Running {
				return &exitCodeError{code: exitError}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml (default: a table)")
	return cmd
}

// readStatus returns what it could find out, also beside an error.
func readStatus(ctx context.Context, dataDir string) (status, error) {
	s := status{Objects: []objects{}}
	pid, ok := controlplane.Holder(dataDir)
	if !ok {
		return s, nil
	}
	s.Running, s.PID = true, pid
	state, ok := readRunFile(dataDir, pid)
	if !ok {
		return s, nil // starting, or about to be gone
	}
	s.Since, s.Address, s.Version = &state.Since, state.Address, state.Version
	counted, err := countManaged(ctx, controlplane.KubeconfigPath(dataDir))
	if err != nil {
		return s, fmt.Errorf("counting objects: %w", err)
	}
	s.Objects = counted
	return s, nil
}

func statusWriters() map[string]func(io.Writer, string, status) error {
	return map[string]func(io.Writer, string, status) error{
		"": writeStatusTable,
		"json": func(w io.Writer, _ string, s status) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(s)
		},
		"yaml": func(w io.Writer, _ string, s status) error {
			content, err := yaml.Marshal(s)
			if err != nil {
				return err
			}
			_, err = w.Write(content)
			return err
		},
	}
}

func writeStatusTable(w io.Writer, dataDir string, s status) error {
	if !s.Running {
		_, err := fmt.Fprintf(w, "Bowline is down; no server runs on %s. Start one with: bowline up --detach%s\n", dataDir, dataDirArgument(dataDir))
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "Process\t%d\nData\t%s\n", s.PID, dataDir)
	if s.Since == nil {
		fmt.Fprintf(table, "State\tstarting\n")
		return table.Flush()
	}
	up := time.Since(*s.Since).Round(time.Second)
	fmt.Fprintf(table, "Address\thttps://%s\nVersion\t%s\nReady since\t%s (%s)\n", s.Address, s.Version, s.Since.Local().Format(time.DateTime), up)
	if len(s.Objects) == 0 {
		return table.Flush()
	}
	if err := table.Flush(); err != nil {
		return err
	}
	table = tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "\nKIND\tTOTAL\tREADY\tSYNCED\n")
	for _, o := range s.Objects {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", o.Kind, o.Total, o.Ready, o.Synced)
	}
	return table.Flush()
}
