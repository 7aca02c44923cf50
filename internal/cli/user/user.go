// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package user is the command bowline user, which grants teams access. Package team does the work.
package user

import (
	"errors"
	"fmt"
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

// flags are shared by all commands about teams.
type flags struct {
	program    string // its name as it was typed, for commands that are printed
	folder     *datadir.Flag
	kubeconfig string
}

// New returns the command.
func New(program string, std command.Streams, folder *datadir.Flag) *cobra.Command {
	f := &flags{program: program, folder: folder}
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Grant a team access to a namespace, and revoke it",
		Long: `Grants a team access to one namespace: it may write claims there, read their Secrets, and list all classes. It can read neither
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
	cmd.PersistentFlags().StringVar(&f.kubeconfig, "kubeconfig", "",
		"kubeconfig of the cluster's administrator (default: that of the running server)")
	cmd.AddCommand(newCreateCmd(f, std), newRenewCmd(f, std), newRevokeCmd(f, std), newListCmd(f, std))
	return cmd
}

// accounts returns the teams of the control plane that the flags select, and its address for a team's kubeconfig.
func (f *flags) accounts() (*team.Accounts, *clientcmdapi.Cluster, error) {
	path := f.kubeconfig
	if path == "" {
		dataDir, err := f.folder.Running()
		if err != nil {
			return nil, nil, fmt.Errorf("%w\nor name the administrator of another control plane with --kubeconfig", err)
		}
		path = controlplane.KubeconfigPath(dataDir)
	}
	config, cluster, err := team.LoadAdmin(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	accounts, err := team.NewAccounts(config)
	return accounts, cluster, err
}

// again is a command about a team as it can be typed.
func (f *flags) again(verb, name string) string {
	line := fmt.Sprintf("%s user %s %s", f.program, verb, name)
	if f.kubeconfig != "" {
		return line + " --kubeconfig " + datadir.ShellQuote(f.kubeconfig)
	}
	if dir, err := f.folder.Client(); err == nil {
		line += datadir.Argument(dir)
	}
	return line
}

// tokenFlags are those of commands that create a token.
type tokenFlags struct {
	duration time.Duration
	file     string
}

func (f *tokenFlags) register(set *pflag.FlagSet) {
	set.DurationVar(&f.duration, "duration", 24*time.Hour, fmt.Sprintf("how long the token is valid, 10m to %.0fh", team.MaxDuration.Hours()))
	set.StringVarP(&f.file, "output", "o", "", "file to write (default TEAM.kubeconfig)")
}

// grant writes the kubeconfig of a team with the token that obtain returns, and prints how to use it.
func (f *flags) grant(std command.Streams, token *tokenFlags, name string, obtain func(*team.Accounts) (team.Grant, error)) error {
	accounts, cluster, err := f.accounts()
	if err != nil {
		return err
	}
	path := token.file
	if path == "" {
		path = name + ".kubeconfig"
	}
	if err := team.CheckOverwrite(path, name); err != nil {
		return err
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
	if err := datadir.WriteFile(path, content); err != nil {
		return err
	}
	created := ""
	if grant.CreatedNamespace {
		created = ", which was created now"
	}
	_, err = fmt.Fprintf(std.Out, `Team %[1]s has role %[2]s in namespace %[3]s%[4]s.
Its kubeconfig is %[5]s; the token expires %[6]s. Anybody with the file has the team's access: treat it like a password.

  %[7]s kubectl --kubeconfig %[8]s get classes    what the team can claim
  %[7]s kubectl --kubeconfig %[8]s get claims     the team's claims
  %[9]s
  %[10]s
`, grant.Name, grant.Role, grant.Namespace, created, path, formatExpiry(grant.TokenEnds), f.program, datadir.ShellQuote(path),
		f.again("renew", grant.Name), f.again("revoke", grant.Name))
	return err
}

// formatExpiry formats the expiry of a token, with the time left.
func formatExpiry(ends time.Time) string {
	left := time.Until(ends)
	if left <= 0 {
		return ends.Local().Format(time.DateTime) + " (expired)"
	}
	return fmt.Sprintf("%s (in %s)", ends.Local().Format(time.DateTime), strings.TrimSuffix(left.Round(time.Minute).String(), "0s"))
}

// explainRights adds the next step if a server refuses access.
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
