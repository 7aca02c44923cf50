// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

type upOptions struct {
	plane.Plane
	program string // the program's name as it was typed, for commands that up prints
	flags   *pflag.FlagSet
	detach  bool
}

func newUpCmd(program string, p Program, std Streams, folder *datadir.Flag) *cobra.Command {
	o := upOptions{program: program, Plane: plane.Plane{Providers: p.Providers, Version: ownVersion(), WithCloud: true}}
	o.Controllers.Terraform = p.Terraform
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start everything: the API server, the controllers and the local cloud",
		Long: `Starts the API server, the controllers of every provider and the local cloud, in one process. It prints a message when they
are ready, and stops them on Ctrl-C; a second Ctrl-C does not wait. All state is kept in the data folder, also when the
process is killed. Metrics are served for Prometheus; traces are sent by gRPC to OTEL_EXPORTER_OTLP_ENDPOINT if that is set.`,
		Example: `  bowline up                                   in the foreground
  bowline up --detach                          in the background; the log is bowline.log in the data folder
  bowline up --data-dir ./state --listen 127.0.0.1:0 --cloud-listen 127.0.0.1:0
  bowline up --cloud-admin                     with fault injection in the local cloud; see bowline cloud --help
  bowline up --cloud=false                     without the local cloud`,
		Args: command.NoArgs,
	}
	o.flags = cmd.Flags()
	cmd.Flags().BoolVar(&o.detach, "detach", false, "run in the background, and return when ready")
	cmd.Flags().BoolVar(&o.WithCloud, "cloud", o.WithCloud, "run the local cloud too")
	o.Server.AddFlags(cmd.Flags())
	o.Cloud.AddFlags(cmd.Flags())
	o.Controllers.AddFlags(cmd.Flags())
	serve(cmd, std, folder, func(ctx context.Context, dataDir string, log *logs.Logs) error {
		o.DataDir = dataDir
		pid, err := awaitEnd(ctx, std.Out, dataDir)
		if err != nil || pid != 0 && !o.detach {
			return cmp.Or(err, alreadyRuns(dataDir, pid))
		}
		if pid != 0 {
			return o.alreadyUp(ctx, std, pid)
		}
		if err := o.Validate(log); err != nil {
			return err
		}
		// The parts start side by side, would create the folder with modes of their own, and report a full disk in various ways.
		if err := controlplane.PrepareFolder(dataDir); err != nil {
			return err
		}
		if err := controlplane.CheckSpace(dataDir); err != nil {
			return err
		}
		if o.detach {
			return o.runDetached(ctx, std)
		}
		return o.run(ctx, std, log)
	})
	return cmd
}

func (o upOptions) run(ctx context.Context, std Streams, log *logs.Logs) error {
	begin := time.Now()
	ready, err := daemon.ReadyWriter(std.Out)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log.Library("controllers")) // controller-runtime warns if it has no logger
	return plane.Run(ctx, func(ctx context.Context, running *plane.Stack) error {
		state, err := o.Start(ctx, running, log)
		if err != nil {
			return err
		}
		if err := announce(o.DataDir, state, log); err != nil {
			return err
		}
		o.welcome(ready, state)
		log.Own("bowline").Info("Ready", "after", time.Since(begin).Round(time.Millisecond))
		defer plane.SaveMemory()
		return ready.Close()
	}, func() error { return datadir.RemoveRunFile(o.DataDir) })
}

// runDetached starts this program again in the background and prints its welcome.
func (o upOptions) runDetached(ctx context.Context, std Streams) error {
	welcome, err := daemon.Start(ctx, daemon.Command{Name: o.program, Args: o.arguments(), Log: datadir.LogPath(o.DataDir)})
	if err != nil {
		return err
	}
	_, err = std.Out.Write(welcome)
	return err
}

func (o upOptions) alreadyUp(ctx context.Context, std Streams, pid int) error {
	state, ok := datadir.ReadRunFile(o.DataDir, pid)
	if !ok || !plane.Healthy(ctx, o.DataDir) {
		return alreadyRuns(o.DataDir, pid)
	}
	fmt.Fprintf(std.Out, "Bowline already runs (process %d).\n", pid)
	o.welcome(std.Out, state)
	return nil
}

// arguments is the command line of the background process: the same flags, with an absolute data folder.
func (o upOptions) arguments() []string {
	arguments := []string{"up", "--data-dir=" + o.DataDir}
	o.flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Name != "detach" && f.Name != "data-dir" {
				arguments = append(arguments, "--"+f.Name+"="+value)
			}
		}
	})
	return arguments
}

func (o upOptions) welcome(w io.Writer, state datadir.RunFile) {
	argument := datadir.Argument(o.DataDir)
	fmt.Fprintf(w, "Bowline is ready: https://%s, data in %s\n", state.Address, o.DataDir)
	if state.Cloud != "" {
		fmt.Fprintf(w, "The local cloud is at %s; a key for it: %s cloud key create --project NAME%s\n", state.Cloud, o.program, argument)
	}
	fmt.Fprintf(w, "\n  %[1]s kubectl%[2]s get clustermanaged\n  export KUBECONFIG=%[3]s\n  %[1]s status%[2]s\n  %[1]s down%[2]s\n",
		o.program, argument, datadir.ShellQuote(controlplane.KubeconfigPath(o.DataDir)))
}

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
	server, err := daemon.Find(ctx, dataDir)
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
	if instances := favouritecloud.InstancesElsewhere(datadir.CloudDir(dataDir)); instances != "" {
		fmt.Fprintf(out, "The data of the cloud's servers is in %s. If you delete %s, delete both.\n", instances, dataDir)
	}
	return nil
}
