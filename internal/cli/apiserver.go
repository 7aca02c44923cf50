// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

func newAPIServerCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var (
		server    plane.ServerOptions
		verbosity logs.Verbosity
	)
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run only the API server and its database",
		Long: `Runs the API server with its database and the controllers of Kubernetes' own objects, in the foreground and without
Bowline's controllers. Run those with: bowline controllers --kubeconfig FILE.`,
		Example: `  bowline apiserver --data-dir ./state --listen 127.0.0.1:0
  bowline kubectl --data-dir ./state api-resources`,
		Args: command.NoArgs,
		RunE: serve(std, folder, &verbosity, func(ctx context.Context, dataDir string, log *logs.Logs) error {
			return runAPIServer(ctx, std, dataDir, server, log)
		}),
	}
	server.AddFlags(cmd.Flags())
	verbosity.AddFlags(cmd.Flags())
	return cmd
}

func runAPIServer(ctx context.Context, std Streams, dataDir string, o plane.ServerOptions, log *logs.Logs) error {
	server, service, err := plane.APIServer(dataDir, o, log)
	if err != nil {
		return err
	}
	return plane.RunOne(ctx, service, func() error {
		if err := announce(dataDir, datadir.NewRunFile(server.Address(), ownVersion()), log); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "The API server is ready at https://%s\n  export KUBECONFIG=%s\n",
			server.Address(), controlplane.KubeconfigPath(dataDir))
		return err
	}, func() error { return datadir.RemoveRunFile(dataDir) })
}

// announce writes the run file and registers the server. Without the registry, clients only need --data-dir.
func announce(dataDir string, state datadir.RunFile, log *logs.Logs) error {
	if err := state.Write(dataDir); err != nil {
		return err
	}
	if err := datadir.Register(dataDir); err != nil {
		log.Own("bowline").Warn("Cannot register this server for other commands; give them --data-dir", "error", err)
	}
	return nil
}

// serve runs a server of a data folder until a signal. The error of a locked folder names the commands to type next.
func serve(std Streams, folder *datadir.Flag, v *logs.Verbosity,
	run func(ctx context.Context, dataDir string, log *logs.Logs) error) func(*cobra.Command, []string) error {
	return untilSignal(func(ctx context.Context) error {
		dataDir, err := folder.Server()
		if err != nil {
			return err
		}
		err = run(ctx, dataDir, logs.New(std.Err, *v))
		if locked, ok := errors.AsType[*controlplane.LockedError](err); ok {
			return alreadyRuns(dataDir, locked.PID)
		}
		return err
	})
}

func alreadyRuns(dataDir string, pid int) error {
	return fmt.Errorf("bowline already runs on %s (process %d); show it with: bowline status%[3]s, or stop it with: bowline down%[3]s",
		dataDir, pid, datadir.Argument(dataDir))
}
