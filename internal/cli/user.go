// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/internal/cli/team"
)

// userFlags are those of every command about teams.
type userFlags struct {
	program    string // how this program was called; what is printed can be typed again
	folder     *dataDirFlag
	kubeconfig string
}

func newUserCmd(program string, std Streams, folder *dataDirFlag) *cobra.Command {
	f := &userFlags{program: program, folder: folder}
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Give a team access to a namespace, and take it away",
		Long: `Lets a team work in a namespace of its own, and nowhere else: it writes claims, reads the Secrets that they bring, and
lists the classes that there are. It sees no credentials of the platform and no other team.

The team gets in with a kubeconfig whose token ends by itself. You do this as the administrator of the server of
--data-dir, or of the cluster that --kubeconfig names.`,
		Example: `  bowline user create shop --namespace shop           writes shop.kubeconfig
  bowline kubectl --kubeconfig shop.kubeconfig get classes
  bowline user renew shop                             before the token ends
  bowline user list
  bowline user revoke shop                            ends all access at once`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&f.kubeconfig, "kubeconfig", "",
		"file that names the cluster and its administrator (default: the server that runs)")
	cmd.AddCommand(newUserCreateCmd(f, std), newUserRenewCmd(f, std), newUserRevokeCmd(f, std), newUserListCmd(f, std))
	return cmd
}

// accounts returns the teams of the control plane that the flags name, and the way to it.
func (f *userFlags) accounts() (*team.Accounts, *clientcmdapi.Cluster, error) {
	config, cluster, err := f.administrator()
	if err != nil {
		return nil, nil, err
	}
	accounts, err := team.NewAccounts(config)
	return accounts, cluster, err
}

// again is a command about a team as it can be typed.
func (f *userFlags) again(verb, name string) string {
	line := fmt.Sprintf("%s user %s %s", f.program, verb, name)
	if f.kubeconfig != "" {
		return line + " --kubeconfig " + shellQuote(f.kubeconfig)
	}
	if dir, err := f.folder.client(); err == nil {
		line += dataDirArgument(dir)
	}
	return line
}

// tokenFlags are those of commands that make a token.
type tokenFlags struct {
	duration time.Duration
	file     string
}

func (f *tokenFlags) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.duration, "duration", 24*time.Hour, fmt.Sprintf("how long the token works, 10m to %.0fh", team.MaxDuration.Hours()))
	flags.StringVarP(&f.file, "output", "o", "", "file to write (default TEAM.kubeconfig)")
}

func (f *tokenFlags) path(name string) string {
	if f.file == "" {
		return name + ".kubeconfig"
	}
	return f.file
}

func newUserCreateCmd(f *userFlags, std Streams) *cobra.Command {
	r := team.Request{}
	token := &tokenFlags{}
	cmd := &cobra.Command{
		Use:   "create TEAM --namespace NS",
		Short: "Let a team work in a namespace, and write its kubeconfig",
		Long: `Makes the namespace if it is missing, lets the team work there, and writes a kubeconfig that only you can read. The roles:

  edit    write claims, read the Secrets of the namespace, list classes
  view    see claims, no Secrets, list classes
  admin   as edit; see managed resources of the namespace too

Done again it gives the team another role if you say so, and a new token in any case. A namespace in which the platform keeps
credentials or the Secrets of managed resources is refused: the team could read them. So is the namespace "default", which
has the events of all that is in no namespace.`,
		Example: `  bowline user create shop --namespace shop
  bowline user create audit --namespace shop --role view --duration 720h -o audit.kubeconfig`,
		Args: oneTeam,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Name, r.Duration = args[0], token.duration
			if r.Namespace == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("say where the team works with --namespace NS")}
			}
			if err := r.Validate(); err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			return f.grant(std, token, r.Name, func(accounts *team.Accounts) (team.Grant, error) { return accounts.Create(cmd.Context(), r) })
		},
	}
	cmd.Flags().StringVarP(&r.Namespace, "namespace", "n", "", "where the team works (required)")
	cmd.Flags().StringVar(&r.Role, "role", "edit", "what it may do there: "+strings.Join(team.Roles(), ", "))
	token.register(cmd.Flags())
	return cmd
}

func newUserRenewCmd(f *userFlags, std Streams) *cobra.Command {
	token := &tokenFlags{}
	cmd := &cobra.Command{
		Use:   "renew TEAM",
		Short: "Write the kubeconfig of a team anew, with a new token",
		Long: `Writes the kubeconfig of a team anew, with a new token. The tokens that it has go on working until they end. If one of
them was lost, revoke the team, wait ten seconds, for which a server may remember a token, and create the team again: that
ends all of them, and touches nothing that the team made.

A namespace that bowline user create refuses is refused here, too. Revoke the team then, and create it in another namespace.`,
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

func newUserRevokeCmd(f *userFlags, std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TEAM",
		Short: "End all access of a team at once",
		Long: `Deletes the account of a team and its role: no token that it was ever given opens anything from then on. The namespace, and
all that the team made in it, stay.`,
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
			fmt.Fprintf(std.Out, "Team %s has no access any more. Namespace %s, and all that the team made in it, is still there.\n",
				t.Name, t.Namespace)
			if len(others) > 0 {
				fmt.Fprintf(std.Out, "Somebody else gave the team more rights. A team of the same name would have them again; to prevent that:\n")
			}
			for _, binding := range others {
				fmt.Fprintf(std.Out, "  kubectl delete %s\n", binding)
			}
			return nil
		},
	}
}

func newUserListCmd(f *userFlags, std Streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Show the teams, where they work and until when",
		Example: `  bowline user list -o json`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("unknown output %q; there is json", output)}
			}
			accounts, _, err := f.accounts()
			if err != nil {
				return err
			}
			teams, err := accounts.List(cmd.Context())
			if err != nil {
				return explainRights(err)
			}
			if output == "json" {
				encoder := json.NewEncoder(std.Out)
				encoder.SetIndent("", "  ")
				return encoder.Encode(teams)
			}
			return f.writeTeams(std, teams)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json (default: a table)")
	return cmd
}

func (f *userFlags) writeTeams(std Streams, teams []team.Team) error {
	if len(teams) == 0 {
		_, err := fmt.Fprintf(std.Out, "There are no teams. Make one with: %s --namespace NS\n", f.again("create", "TEAM"))
		return err
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "TEAM\tNAMESPACE\tROLE\tTOKEN ENDS")
	for _, t := range teams {
		role, ends := t.Role, "none was made"
		if role == "" {
			role = "none"
		}
		if !t.TokenEnds.IsZero() {
			ends = shownEnd(t.TokenEnds)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, t.Namespace, role, ends)
	}
	return table.Flush()
}

// shownEnd says when a token ends, or that it has.
func shownEnd(ends time.Time) string {
	left := time.Until(ends)
	if left <= 0 {
		return ends.Local().Format(time.DateTime) + " (ended)"
	}
	return fmt.Sprintf("%s (in %s)", ends.Local().Format(time.DateTime), strings.TrimSuffix(left.Round(time.Minute).String(), "0s"))
}

// explainRights adds what to do next when a server refuses.
func explainRights(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: this takes an administrator; name the kubeconfig of one with --kubeconfig", err)
	}
	return err
}

func oneTeam(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("say which team: %s", cmd.UseLine())}
}
