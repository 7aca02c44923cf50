// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package user

import (
	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

func newRenewCmd(f *flags, std command.Streams) *cobra.Command {
	token := &tokenFlags{}
	cmd := &cobra.Command{
		Use:   "renew TEAM",
		Short: "Write the kubeconfig of a team with a new token",
		Long: `Writes the kubeconfig of a team with a new token. Older tokens stay valid until they expire. If a token has leaked, revoke the
team, wait ten seconds, for which a server may cache a token, and create the team again: this invalidates all its tokens and
keeps the team's objects.

A namespace that bowline user create refuses is refused here, too. Revoke the team, and create it in another namespace.`,
		Example: `  bowline user renew shop
  bowline user renew shop --duration 720h -o /run/shop/kubeconfig`,
		Args: oneTeam,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.grant(std, token, args[0], func(accounts *team.Accounts) (team.Grant, error) {
				return accounts.Renew(cmd.Context(), args[0], token.duration)
			})
		},
	}
	token.register(cmd.Flags())
	return cmd
}
