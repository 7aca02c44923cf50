// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package user is the command bowline user, which grants teams access. Package team does the work.
package user

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

type flags struct {
	program  string // its name as it was typed, for commands that are printed
	folder   *datadir.Flag
	access   datadir.Access // as administrator
	duration time.Duration  // of a new token
	file     string         // to write the kubeconfig of a team to
}

// New returns the command.
func New(program string, std command.Streams, folder *datadir.Flag) *cobra.Command {
	f := &flags{program: program, folder: folder}
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Grant a team access to namespaces, and revoke it",
		Long: `Grants a team access to one or several namespaces: it may write claims there, read their Secrets, and list all classes. It can read neither
credentials of the platform nor objects of other teams.

The team uses a kubeconfig with a token that expires. To run these commands you need to be the administrator of the server of
--data-dir, or of the cluster of --kubeconfig.`,
		Example: `  bowline user create shop --namespace shop           writes shop.kubeconfig
  bowline kubectl --kubeconfig shop.kubeconfig get classes
  bowline user renew shop                             before the token expires
  bowline user list
  bowline user revoke shop                            ends all access at once`,
		Args: command.Subcommand,
		RunE: command.ShowHelp,
	}
	f.access.AddFlags(cmd.PersistentFlags())
	cmd.AddCommand(newCreateCmd(f, std), newRenewCmd(f, std), newRevokeCmd(f, std), newListCmd(f, std))
	return cmd
}

// accounts returns the teams of the control plane that the flags select, and its address for a team's kubeconfig.
func (f *flags) accounts() (*team.Accounts, *clientcmdapi.Cluster, error) {
	admin, err := f.folder.Config(f.access)
	if err != nil {
		return nil, nil, fmt.Errorf("%w\nor name the administrator of another control plane with --kubeconfig", err)
	}
	config, cluster, err := team.LoadAdmin(admin, f.access.Context)
	if err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	accounts, err := team.NewAccounts(config)
	return accounts, cluster, err
}

func (f *flags) again(verb, name string) string {
	line := fmt.Sprintf("%s user %s %s", f.program, verb, name)
	if given := f.access.String(); given != "" || f.folder.FromEnvironment() != "" {
		return line + given
	}
	if dir, err := f.folder.Client(); err == nil {
		line += datadir.Argument(dir)
	}
	return line
}

func (f *flags) addTokenFlags(set *pflag.FlagSet) {
	set.DurationVar(&f.duration, "duration", 24*time.Hour, fmt.Sprintf("how long the token is valid, 10m to %.0fh", team.MaxDuration.Hours()))
	set.StringVarP(&f.file, "output", "o", "", "file to write, or - for standard output (default TEAM.kubeconfig)")
}

// grant writes the kubeconfig of a team with the token that obtain returns, and prints how to use it.
func (f *flags) grant(std command.Streams, name string, obtain func(*team.Accounts) (team.Grant, error)) error {
	accounts, cluster, err := f.accounts()
	if err != nil {
		return err
	}
	path := cmp.Or(f.file, name+".kubeconfig")
	if path != "-" {
		if err := team.CheckOverwrite(path, name); err != nil {
			return err
		}
	}
	grant, err := obtain(accounts)
	if unknown, ok := errors.AsType[*team.UnknownError](err); ok {
		return fmt.Errorf("%w; create it with: %s --namespace NS", err, f.again("create", unknown.Name))
	}
	if err != nil {
		return explainRights(err)
	}
	content, err := grant.Kubeconfig(cluster)
	if err != nil {
		return err
	}
	if path == "-" {
		_, err := std.Out.Write(content)
		return err
	}
	if err := controlplane.WriteFile(path, content); err != nil {
		return err
	}
	created := ""
	if len(grant.Created) > 0 {
		created = ", created now: " + strings.Join(grant.Created, ", ")
	}
	_, err = fmt.Fprintf(std.Out, `Team %[1]s has role %[2]s in %[3]s%[4]s.
Its kubeconfig is %[5]s; the token expires %[6]s. The file grants the team's rights: treat it like a password.

  %[7]s kubectl --kubeconfig %[8]s get classes    what the team can claim
  %[7]s kubectl --kubeconfig %[8]s get claims     the team's claims
  %[9]s
  %[10]s
`, grant.Name, grant.Role, team.In(grant.Namespaces), created, path, formatExpiry(grant.TokenEnds), f.program, datadir.ShellQuote(path),
		f.again("renew", grant.Name), f.again("revoke", grant.Name))
	return err
}

func formatExpiry(ends time.Time) string {
	left := time.Until(ends)
	if left <= 0 {
		return ends.Local().Format(time.DateTime) + " (expired)"
	}
	return fmt.Sprintf("%s (in %s)", ends.Local().Format(time.DateTime), strings.TrimSuffix(left.Round(time.Minute).String(), "0s"))
}

func explainRights(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: this command needs an administrator; give the kubeconfig of one with --kubeconfig", err)
	}
	return err
}

func oneTeam(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return command.Usagef(cmd, "name one team: %s", cmd.UseLine())
}

func newCreateCmd(f *flags, std command.Streams) *cobra.Command {
	r, claims := team.Request{}, int64(team.DefaultClaims)
	cmd := &cobra.Command{
		Use:   "create TEAM --namespace NS[,NS...]",
		Short: "Grant a team access to namespaces, and write its kubeconfig",
		Long: `Creates the namespaces that do not exist, grants the team access to them, and writes a kubeconfig that only you can read, with
the first namespace as the default. The roles:

  edit    write claims, read the Secrets of the namespace, list classes
  view    read claims, no Secrets, list classes
  admin   as edit; also read managed resources of the namespace

In each namespace, the ResourceQuota ` + team.QuotaName + ` limits the number of claims of each kind, and of targets, so that one team
cannot use up what all share; --claims sets it. The limit applies to each namespace: a team with two namespaces may have twice as many.
Without --claims, limits that exist stay, and those of new kinds are added.

Repeat the command to change the role or to add namespaces; it always creates a new token. Some namespaces are refused, since the team could read
too much: those in which the platform keeps credentials or the Secrets of managed resources, and "default", which has the
events of all cluster-scoped objects.`,
		Example: `  bowline user create shop --namespace shop
  bowline user create shop --namespace shop,shop-test --claims 2
  bowline user create audit --namespace shop --role view --duration 720h -o audit.kubeconfig`,
		Args: oneTeam,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Name, r.Duration = args[0], f.duration
			if len(r.Namespaces) == 0 {
				return command.Usagef(cmd, "name the namespace of the team with --namespace NS")
			}
			if cmd.Flags().Changed("claims") {
				r.Claims = &claims
			}
			if err := r.Validate(); err != nil {
				return command.Usagef(cmd, "%w", err)
			}
			return f.grant(std, r.Name, func(accounts *team.Accounts) (team.Grant, error) { return accounts.Create(cmd.Context(), r) })
		},
	}
	cmd.Flags().StringSliceVarP(&r.Namespaces, "namespace", "n", nil, "namespaces of the team, separated by commas (required)")
	cmd.Flags().Int64Var(&claims, "claims", claims, "how many claims of each kind, and targets, each namespace may have; 0 for any number")
	cmd.Flags().StringVar(&r.Role, "role", "edit", "role of the team in the namespace: "+strings.Join(team.Roles(), ", "))
	f.addTokenFlags(cmd.Flags())
	return cmd
}

func newRenewCmd(f *flags, std command.Streams) *cobra.Command {
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
			return f.grant(std, args[0], func(accounts *team.Accounts) (team.Grant, error) {
				return accounts.Renew(cmd.Context(), args[0], f.duration)
			})
		},
	}
	f.addTokenFlags(cmd.Flags())
	return cmd
}

func newRevokeCmd(f *flags, std command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke TEAM",
		Short:   "End all access of a team at once",
		Long:    `Deletes the account of a team and its role bindings, which invalidates all its tokens. The namespaces and the team's objects stay.`,
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
			fmt.Fprintf(std.Out, "Team %s no longer has access. Its objects in %s stay.\n", t.Name, team.In(t.Namespaces))
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

func newListCmd(f *flags, std command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the teams with their namespaces and the expiry of their tokens",
		Example: `  bowline user list -o json`,
		Args:    command.NoArgs,
	}
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
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
	rows := [][]any{{"TEAM", "NAMESPACES", "ROLE", "TOKEN ENDS"}}
	for _, t := range teams {
		expires := "none"
		if !t.TokenEnds.IsZero() {
			expires = formatExpiry(t.TokenEnds)
		}
		rows = append(rows, []any{t.Name, strings.Join(t.Namespaces, ","), cmp.Or(t.Role, "none"), expires})
	}
	return command.PrintTable(w, rows...)
}
