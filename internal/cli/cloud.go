// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

func newCloudCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var (
		options   plane.CloudOptions
		verbosity logs.Verbosity
	)
	cmd := &cobra.Command{
		Use:   "cloud",
		Short: "Run only the local cloud, or create keys for it",
		Long: `Runs the local cloud in the foreground: a small HTTP API whose database instances are real PostgreSQL servers. It does not
depend on Kubernetes. bowline up includes it; run it by itself to use it with another control plane.

With --cloud-admin you can make it slow, refuse or throttle calls and lose responses, to test how a control plane reacts:
PUT /admin/v1/faults with the token in cloud/admin.token of the data folder. favouritecloud/README.md has examples.`,
		Example: `  bowline cloud --data-dir ./state
  bowline cloud --cloud-admin
  KEY=$(bowline cloud key create --project demo)`,
		Args: command.Subcommand,
		RunE: serve(std, folder, &verbosity, func(ctx context.Context, dataDir string, log *logs.Logs) error {
			if err := controlplane.PrepareFolder(dataDir); err != nil {
				return err
			}
			cloud, service, err := plane.Cloud(dataDir, options, log)
			if err != nil {
				return err
			}
			return plane.RunOne(ctx, service, func() error {
				_, err := fmt.Fprintf(std.Out, "The local cloud is ready at %s\n  bowline cloud key create --project NAME%s\n",
					cloud.URL(), datadir.Argument(dataDir))
				return err
			}, nil)
		}),
	}
	options.AddFlags(cmd.Flags())
	verbosity.AddFlags(cmd.Flags())
	cmd.AddCommand(newCloudKeyCmd(std, folder))
	return cmd
}

func newCloudKeyCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var project string
	create := &cobra.Command{
		Use:   "create --project NAME",
		Short: "Create an API key of a project, and the project if it is new",
		Long: `Creates an API key and prints only the key to the standard output. This is the only time that it is shown: the cloud
stores its hash.`,
		Example: `  KEY=$(bowline cloud key create --project demo)`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project == "" {
				return command.Usagef(cmd, "name the project with --project NAME")
			}
			dataDir, err := folder.Client()
			if err != nil {
				return err
			}
			key, err := createKey(cmd.Context(), dataDir, project)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.Out, key)
			return err
		},
	}
	create.Flags().StringVar(&project, "project", "", "name of the project (required)")
	cmd := &cobra.Command{Use: "key", Short: "Create API keys of the local cloud", Args: command.Subcommand, RunE: command.ShowHelp}
	cmd.AddCommand(create)
	return cmd
}

func createKey(ctx context.Context, dataDir, project string) (string, error) {
	endpoint, err := favouritecloud.ReadEndpoint(datadir.CloudDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no local cloud runs on %s; start one with: bowline up --detach%s, or name its folder with --data-dir",
			dataDir, datadir.Argument(dataDir))
	}
	if err != nil {
		return "", err
	}
	token, err := favouritecloud.ReadAdminToken(datadir.CloudDir(dataDir))
	if err != nil {
		return "", err
	}
	key, err := sdk.CreateKey(ctx, endpoint, token, project)
	if err != nil {
		return "", fmt.Errorf("creating key of project %s: %w", project, err)
	}
	return key.Key, nil
}
