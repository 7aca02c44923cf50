// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

const countTimeout = 20 * time.Second

// status is the output of `bowline status -o json`; its keys are an interface.
type status struct {
	Running bool       `json:"running"`
	PID     int        `json:"pid"`     // 0 when down
	Since   *time.Time `json:"since"`   // when it became ready; null when down or still starting
	Address string     `json:"address"` // host:port of the API server; empty when down or still starting
	Version string     `json:"version"` // of the server; empty when down or still starting
	Objects []objects  `json:"objects"` // every kind of category "managed", sorted
}

type objects struct {
	Kind   string `json:"kind"` // with the group after a dot when two groups have a kind of that name
	Total  int    `json:"total"`
	Ready  int    `json:"ready"`  // with condition Ready True
	Synced int    `json:"synced"` // with condition Synced True
}

func newStatusCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether a server runs, and count managed resources",
		Long: `Shows whether a server runs, and how many managed resources of each kind it has. The exit code is 1 if no server runs, or
if the server does not respond.`,
		Example: `  bowline status
  bowline status -o json`,
		Args: command.NoArgs,
	}
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dataDir, err := folder.Client()
		if err != nil {
			return err
		}
		s, problem := readStatus(cmd.Context(), dataDir)
		err = output.Print(std.Out, s, func(w io.Writer, _ string) error { return s.print(w, dataDir) })
		switch {
		case err != nil:
			return fmt.Errorf("writing status: %w", err)
		case problem != nil:
			return problem
		case !s.Running:
			return &exitCodeError{code: exitError}
		}
		return nil
	}
	return cmd
}

// readStatus returns a partial status beside an error.
func readStatus(ctx context.Context, dataDir string) (status, error) {
	s := status{Objects: []objects{}}
	pid, ok := controlplane.Holder(dataDir)
	if !ok {
		return s, nil
	}
	s.Running, s.PID = true, pid
	state, ok := datadir.ReadRunFile(dataDir, pid)
	if !ok {
		return s, nil // starting or stopping
	}
	s.Since, s.Address, s.Version = &state.Since, state.Address, state.Version
	counted, err := countManaged(ctx, controlplane.KubeconfigPath(dataDir))
	if err != nil {
		return s, fmt.Errorf("counting objects: %w", err)
	}
	s.Objects = counted
	return s, nil
}

func countManaged(ctx context.Context, kubeconfig string) ([]objects, error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	cluster, _, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	kinds := cluster.OfRole(inspect.RoleManaged)
	slices.SortFunc(kinds, func(a, b inspect.Kind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	counted := []objects{}
	for _, kind := range kinds {
		n := objects{Kind: displayName(kind, kinds)}
		err := cluster.Each(ctx, kind, func(o *unstructured.Unstructured) {
			conditions := inspect.Conditions(o)
			n.Total++
			if conditions.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
				n.Ready++
			}
			if conditions.GetCondition(xpv1.TypeSynced).Status == corev1.ConditionTrue {
				n.Synced++
			}
		})
		if err != nil {
			return nil, err
		}
		counted = append(counted, n)
	}
	return counted, nil
}

func displayName(kind inspect.Kind, all []inspect.Kind) string {
	if slices.ContainsFunc(all, func(k inspect.Kind) bool { return k.Kind == kind.Kind && k.Group != kind.Group }) {
		return kind.Kind + "." + kind.Group
	}
	return kind.Kind
}

func (s status) print(w io.Writer, dataDir string) error {
	if !s.Running {
		_, err := fmt.Fprintf(w, "Bowline is down; no server runs on %s. Start one with: bowline up --detach%s\n", dataDir, datadir.Argument(dataDir))
		return err
	}
	rows := [][]any{{"Process", s.PID}, {"Data", dataDir}}
	if s.Since == nil {
		return command.PrintTable(w, append(rows, []any{"State", "starting"})...)
	}
	since := fmt.Sprintf("%s (%s)", s.Since.Local().Format(time.DateTime), time.Since(*s.Since).Round(time.Second))
	rows = append(rows, []any{"Address", "https://" + s.Address}, []any{"Version", s.Version}, []any{"Ready since", since})
	if err := command.PrintTable(w, rows...); err != nil || len(s.Objects) == 0 {
		return err
	}
	rows = [][]any{{"\nKIND", "TOTAL", "READY", "SYNCED"}}
	for _, o := range s.Objects {
		rows = append(rows, []any{o.Kind, o.Total, o.Ready, o.Synced})
	}
	return command.PrintTable(w, rows...)
}
