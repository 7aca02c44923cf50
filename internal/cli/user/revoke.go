// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package user

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
)

func newRevokeCmd(f *flags, std command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke TEAM",
		Short:   "End all access of a team at once",
		Long:    `Deletes the account of a team and its role binding, which invalidates all its tokens. The namespace and the team's objects stay.`,
		Example: `  bowline user revoke shop`,
		Args:    oneTeam,
		RunE: func(cmd *cobra.Command, args []string) error {
			accounts, _, err := f.accounts()
			if err != nil {
				return err
			}
			t, others, err := accounts.Revoke(cmd.Context(), args[0])
			if err != nil {
				return explainRights(err)
			}
			fmt.Fprintf(std.Out, "Team %s no longer has access. Namespace %s and the team's objects stay.\n", t.Name, t.Namespace)
			if len(others) > 0 {
				fmt.Fprintln(std.Out, "These bindings, which Bowline did not create, would hold for a new team of the same name. To delete them:")
			}
			for _, binding := range others {
				fmt.Fprintf(std.Out, "  kubectl delete %s\n", binding)
			}
			return nil
		},
	}
}
