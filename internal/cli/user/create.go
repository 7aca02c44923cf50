// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package user

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

func newCreateCmd(f *flags, std command.Streams) *cobra.Command {
	r := team.Request{}
	token := &tokenFlags{}
	cmd := &cobra.Command{
		Use:   "create TEAM --namespace NS",
		Short: "Grant a team access to a namespace, and write its kubeconfig",
		Long: `Creates the namespace if it does not exist, grants the team access to it, and writes a kubeconfig that only you can read.
The roles:

  edit    write claims, read the Secrets of the namespace, list classes
  view    read claims, no Secrets, list classes
  admin   as edit; also read managed resources of the namespace

Repeat the command to change the role; it always creates a new token. Some namespaces are refused, since the team could read
too much: those in which the platform keeps credentials or the Secrets of managed resources, and "default", which has the
events of all cluster-scoped objects.`,
		Example: `  bowline user create shop --namespace shop
  bowline user create audit --namespace shop --role view --duration 720h -o audit.kubeconfig`,
		Args: oneTeam,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Name, r.Duration = args[0], token.duration
			if r.Namespace == "" {
				return command.Usagef(cmd, "name the namespace of the team with --namespace NS")
			}
			if err := r.Validate(); err != nil {
				return command.Usagef(cmd, "%w", err)
			}
			return f.grant(std, token, r.Name, func(accounts *team.Accounts) (team.Grant, error) { return accounts.Create(cmd.Context(), r) })
		},
	}
	cmd.Flags().StringVarP(&r.Namespace, "namespace", "n", "", "namespace of the team (required)")
	cmd.Flags().StringVar(&r.Role, "role", "edit", "role of the team in the namespace: "+strings.Join(team.Roles(), ", "))
	token.register(cmd.Flags())
	return cmd
}
