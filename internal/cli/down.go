// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

func newDownCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything",
		Long: fmt.Sprintf(`Stops the server and all its parts, including the cloud's database servers. All state is kept for the next bowline up. A
server that has not stopped after %s is killed.`, daemon.StopTimeout),
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dataDir, err := folder.Client()
			if err != nil {
				return err
			}
			return down(cmd.Context(), std.Out, dataDir)
		},
	}
}

func down(ctx context.Context, out io.Writer, dataDir string) error {
	killed := false
	server, err := daemon.Find(dataDir)
	if err != nil {
		return err
	}
	if server != nil {
		defer func() { _ = server.Release() }()
		if killed, err = server.Stop(ctx, out, daemon.StopTimeout); err != nil {
			return err
		}
	}
	leftovers, err := plane.StopLeftovers(ctx, out, dataDir)
	switch {
	case err != nil:
		return err
	case server == nil && !leftovers:
		fmt.Fprintf(out, "Nothing runs on %s.\n", dataDir)
	case killed:
		fmt.Fprintln(out, "Stopped, by force.")
	default:
		fmt.Fprintln(out, "Stopped.")
	}
	return nil
}
