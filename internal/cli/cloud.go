// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/controlplane"
)

func newCloudCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	var (
		flags     cloudFlags
		verbosity verbosity
	)
	cmd := &cobra.Command{
		Use:   "cloud",
		Short: "Run only the local cloud, or make keys for it",
		Long: `Runs the local cloud in the foreground: a small HTTP API whose database instances are real PostgreSQL servers. It knows
nothing of Kubernetes. It is part of bowline up; run it by itself to use it with another control plane.

With --cloud-admin it can be told to be slow, to refuse, to throttle and to lose answers, so that one sees what a control
plane does then: PUT /admin/v1/faults with the token in cloud/admin.token of the data folder. favouritecloud/README.md
has examples.`,
		Example: `  bowline cloud --data-dir ./state
  bowline cloud --cloud-admin
  KEY=$(bowline cloud key create --project demo)`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dataDir, err := folder.own()
			if err != nil {
				return err
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			return explain(runCloud(ctx, std, dataDir, flags, newLogs(std.Err, verbosity)), dataDir)
		},
	}
	flags.register(cmd.Flags())
	verbosity.register(cmd.Flags())
	cmd.AddCommand(newCloudKeyCmd(std, folder))
	return cmd
}

func runCloud(ctx context.Context, std Streams, dataDir string, flags cloudFlags, log *logs) error {
	if err := controlplane.PrepareFolder(dataDir); err != nil {
		return err
	}
	cloud, svc, err := localCloud(dataDir, flags, log)
	if err != nil {
		return err
	}
	return runServices(ctx, func(ctx context.Context, running *stack) error {
		if err := running.start(ctx, svc); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "The local cloud is ready at %s\n  bowline cloud key create --project NAME%s\n",
			cloud.URL(), dataDirArgument(dataDir))
		return err
	}, func() error { return nil })
}
