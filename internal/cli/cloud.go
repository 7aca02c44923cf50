// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/controlplane"
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			dataDir, err := folder.Server()
			if err != nil {
				return err
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			return explainLock(runCloud(ctx, std, dataDir, options, logs.New(std.Err, verbosity)), dataDir)
		},
	}
	options.AddFlags(cmd.Flags())
	verbosity.AddFlags(cmd.Flags())
	cmd.AddCommand(newCloudKeyCmd(std, folder))
	return cmd
}

func runCloud(ctx context.Context, std Streams, dataDir string, o plane.CloudOptions, log *logs.Logs) error {
	if err := controlplane.PrepareFolder(dataDir); err != nil {
		return err
	}
	cloud, service, err := plane.Cloud(dataDir, o, log)
	if err != nil {
		return err
	}
	return plane.Run(ctx, func(ctx context.Context, running *plane.Stack) error {
		if err := running.Start(ctx, service); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "The local cloud is ready at %s\n  bowline cloud key create --project NAME%s\n",
			cloud.URL(), datadir.Argument(dataDir))
		return err
	}, func() error { return nil })
}
