// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/transport"

	"github.com/bowline-dev/bowline/internal/cli/checkup"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/kubectl"
	"github.com/bowline-dev/bowline/internal/cli/leaks"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/manifests"
	"github.com/bowline-dev/bowline/internal/cli/plan"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/internal/cli/resume"
	"github.com/bowline-dev/bowline/internal/cli/rotate"
	"github.com/bowline-dev/bowline/internal/cli/scaffold"
	terraformcli "github.com/bowline-dev/bowline/internal/cli/terraform"
	"github.com/bowline-dev/bowline/internal/cli/upgrade"
	"github.com/bowline-dev/bowline/internal/cli/user"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/providers/sql"
	"github.com/bowline-dev/bowline/providers/terraform"
	terraformcontroller "github.com/bowline-dev/bowline/providers/terraform/controller"
)

// version is set by the linker (see the Makefile).
var version string

const modulePath = "github.com/bowline-dev/bowline"

const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line is wrong
)

// Streams are the standard streams of a command.
type Streams = command.Streams

// A Program is the command bowline with a choice of providers: the same commands, flags and wiring.
type Program struct {
	// Providers are linked in: their kinds and controllers.
	Providers []provider.Provider

	// Terraform has the flags of the provider for Terraform, if it is one of Providers.
	Terraform *terraformcontroller.Options

	// WrapTransport, if set, wraps the connection of `bowline controllers` to the API server, for a program that observes its
	// requests. Default: none.
	WrapTransport transport.WrapperFunc
}

// Main runs the command line of this process and returns its exit code: 0 success, 1 failure, 2 wrong usage.
func Main() int {
	journal.Main()
	return Run(context.Background(), os.Args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Run runs one command line with the providers built in, see Program.Run.
func Run(ctx context.Context, args []string, std Streams) int {
	o := &terraformcontroller.Options{Namespace: plane.SystemNamespace}
	return Program{Providers: providers(o), Terraform: o}.Run(ctx, args, std)
}

// Run runs one command line and returns its exit code. args[0] is the program's name as it was typed. An error is written once
// to std.Err.
func (p Program) Run(ctx context.Context, args []string, std Streams) int {
	root := p.newRootCmd(args[0], std)
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if exit, ok := errors.AsType[*exitCodeError](err); ok {
		return exit.code
	}
	fmt.Fprintf(std.Err, "bowline: %v\n", err)
	if usage, ok := errors.AsType[*command.UsageError](err); ok {
		fmt.Fprintf(std.Err, "See '%s --help'.\n", usage.Command)
		return exitUsage
	}
	return exitError
}

func (p Program) newRootCmd(program string, std Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "bowline",
		Short: "A control plane for managed services",
		Long: `Bowline is a control plane for managed services: you declare a database as a Kubernetes object, Bowline creates the real
database, keeps it as declared and gives you its credentials in a Secret. It needs no cluster: one program runs everything.`,
		Example: `  bowline up --detach                         start everything, in the background
  bowline kubectl get clustermanaged          list managed resources
  bowline status                              show the server and its objects
  bowline down                                stop everything`,
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          command.ShowHelp,
		Args:          command.Subcommand,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &command.UsageError{Command: cmd.CommandPath(), Err: err}
	})
	folder := &datadir.Flag{}
	folder.AddFlags(root.PersistentFlags())
	root.AddCommand(
		newUpCmd(program, p, std, folder),
		newDownCmd(std, folder),
		newBackupCmd(std, folder),
		newRestoreCmd(std, folder),
		newStatusCmd(std, folder),
		checkup.New(std, folder),
		newLogsCmd(std, folder),
		newTraceCmd(std, folder),
		newWhyCmd(std, folder),
		leaks.New(p.Providers, std, folder, openCluster),
		leaks.NewOrphans(std, folder, openCluster),
		plan.New(p.Providers, p.Terraform, std, folder),
		rotate.New(std, folder, openCluster),
		resume.New(std, folder, openCluster),
		kubectl.New(std, folder),
		newAPIServerCmd(std, folder),
		newControllersCmd(p, std),
		newCloudCmd(std, folder),
		user.New(program, std, folder),
		manifests.NewCRDs(p.Providers, std),
		manifests.NewRBAC(p.Providers, std),
		manifests.New(p.Providers, std),
		upgrade.New(p.Providers, p.Terraform, std, folder),
		terraformcli.New(p.Terraform, std, folder, openCluster),
		scaffold.NewInit(modulePath, ownVersion(), std),
		scaffold.NewCreate(modulePath, std),
		newGenerateCmd(std),
		newVersionCmd(std),
	)
	return root
}

// exitCodeError ends the program with a code, without a further message.
type exitCodeError struct{ code int }

func (e *exitCodeError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// untilSignal makes a command run, with a log, until the first signal to stop; a closed terminal counts as one. The second signal
// kills the process.
func untilSignal(cmd *cobra.Command, std Streams, run func(context.Context, *logs.Logs) error) {
	verbosity := cmd.Flags().IntP("v", "v", 0, "log more: 1 adds repeated errors and messages of libraries, 2 each reconcile, 4 each request")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, err := daemon.LogWriter(std.Err)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		context.AfterFunc(ctx, stop)
		return run(ctx, logs.New(ctx, out, *verbosity))
	}
}

func newVersionCmd(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(std.Out, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("bowline %s (Kubernetes %s, %s, %s/%s)",
		ownVersion(), moduleVersion("k8s.io/kubernetes"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// ownVersion is the version of the linker, else of `go install …@version`, else "devel".
func ownVersion() string {
	if version != "" {
		return version
	}
	if v := moduleVersion(modulePath); v != "(devel)" {
		return v
	}
	return "devel"
}

// moduleVersion returns the version of a module that this binary was built from, or "unknown".
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == path {
			return cmp.Or(module.Version, "unknown")
		}
	}
	return "unknown"
}

// providers are the built-in ones. To add one, add a line.
func providers(o *terraformcontroller.Options) []provider.Provider {
	return []provider.Provider{core.Provider(), fcp.Provider(), sql.Provider(), terraform.Provider(o)}
}
