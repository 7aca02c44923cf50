// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

func newDownCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything",
		Long: fmt.Sprintf(`Stops the server and all its parts, including the cloud's database servers. All state is kept for the next bowline up. A
server that has not stopped after %s is killed.`, daemon.StopTimeout),
		Args: noArgs,
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
	leftovers, err := stopLeftovers(ctx, out, dataDir)
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

// stopLeftovers stops the database servers of a killed cloud, and reports whether there was one: a cloud that stops in order
// removes its endpoint file. Only the cloud can adopt its servers, so this starts it and stops it again.
func stopLeftovers(ctx context.Context, out io.Writer, dataDir string) (bool, error) {
	cloudDir := datadir.CloudDir(dataDir)
	_, err := favouritecloud.ReadEndpoint(cloudDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, "Stopping database servers that the local cloud left behind")
	cloud, err := favouritecloud.New(favouritecloud.Config{DataDir: cloudDir, Listen: "127.0.0.1:0"})
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-cloud.Ready():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := cloud.Run(ctx); err != nil {
		return true, fmt.Errorf("the local cloud of %s cannot be stopped from here (if it runs by itself, press Ctrl-C there): %w", dataDir, err)
	}
	return true, nil
}
