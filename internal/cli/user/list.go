// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package user

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

func newListCmd(f *flags, std command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the teams with their namespaces and the expiry of their tokens",
		Example: `  bowline user list -o json`,
		Args:    command.NoArgs,
	}
	output := command.NewOutput(cmd, "a table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := output.Check(cmd); err != nil {
			return err
		}
		accounts, _, err := f.accounts()
		if err != nil {
			return err
		}
		teams, err := accounts.List(cmd.Context())
		if err != nil {
			return explainRights(err)
		}
		return output.Print(std.Out, teams, func(w io.Writer, _ string) error { return f.printTeams(w, teams) })
	}
	return cmd
}

func (f *flags) printTeams(w io.Writer, teams []team.Team) error {
	if len(teams) == 0 {
		_, err := fmt.Fprintf(w, "There are no teams. Create one with: %s --namespace NS\n", f.again("create", "TEAM"))
		return err
	}
	rows := [][]any{{"TEAM", "NAMESPACE", "ROLE", "TOKEN ENDS"}}
	for _, t := range teams {
		expires := "none"
		if !t.TokenEnds.IsZero() {
			expires = formatExpiry(t.TokenEnds)
		}
		rows = append(rows, []any{t.Name, t.Namespace, cmp.Or(t.Role, "none"), expires})
	}
	return command.PrintTable(w, rows...)
}
