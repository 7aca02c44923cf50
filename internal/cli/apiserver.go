// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/controlplane"
)

func newAPIServerCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	var (
		server    serverFlags
		verbosity verbosity
	)
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run only the control plane",
		Long: `Runs the API server with its database and the controllers that Kubernetes' own objects need, in the foreground and
without any of Bowline's controllers. Bring those with: bowline controllers --kubeconfig FILE.`,
		Example: `  bowline apiserver --data-dir ./state --listen 127.0.0.1:0
  bowline kubectl --data-dir ./state api-resources`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dataDir, err := folder.own()
			if err != nil {
				return err
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			return explain(runAPIServer(ctx, std, dataDir, server, newLogs(std.Err, verbosity)), dataDir)
		},
	}
	server.register(cmd.Flags())
	verbosity.register(cmd.Flags())
	return cmd
}

func runAPIServer(ctx context.Context, std Streams, dataDir string, flags serverFlags, log *logs) error {
	server, svc, err := apiServer(dataDir, flags, log)
	if err != nil {
		return err
	}
	return runServices(ctx, func(ctx context.Context, running *stack) error {
		if err := running.start(ctx, svc); err != nil {
			return err
		}
		if err := announce(dataDir, thisProcess(server)); err != nil {
			return err
		}
		noteInRegistry(dataDir, log)
		_, err := fmt.Fprintf(std.Out, "The API server is ready at https://%s\n  export KUBECONFIG=%s\n",
			server.Address(), controlplane.KubeconfigPath(dataDir))
		return err
	}, func() error { return renounce(dataDir) })
}

// runServices lets start bring up services, waits until ctx ends or one of them fails, and stops them all. cleanUp runs
// before they stop, if start succeeded.
func runServices(ctx context.Context, start func(context.Context, *stack) error, cleanUp func() error) error {
	running := newStack()
	if err := start(ctx, running); err != nil {
		if ctx.Err() != nil {
			err = nil // asked to stop while starting: not a failure
		}
		return joined(err, running.stop())
	}
	err := running.wait(ctx)
	return joined(err, cleanUp(), running.stop())
}

func thisProcess(server *controlplane.Server) runFile {
	return runFile{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Address: server.Address(), Version: ownVersion()}
}

// noteInRegistry only logs a failure: without the note, clients need --data-dir.
func noteInRegistry(dataDir string, log *logs) {
	if err := register(dataDir); err != nil {
		log.own("bowline").Warn("Cannot note this server for other commands; give them --data-dir", "error", err)
	}
}
