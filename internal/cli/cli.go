// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/transport"

	"github.com/bowline-dev/bowline/pkg/provider"
)

const (
	exitOK    = 0
	exitError = 1 // what was asked for did not happen
	exitUsage = 2 // what was asked for was not understood
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A Program is the command bowline with parts of its own: the same commands, flags and wiring, other providers.
type Program struct {
	// Providers are those whose kinds and controllers it brings.
	Providers []provider.Provider

	// WrapTransport, if set, is laid around the connection of `bowline controllers` to the API server, for a program
	// that wants to see its requests. Default: none.
	WrapTransport transport.WrapperFunc
}

// Main runs the command line of this process and returns its exit code: 0 done, 1 not done, 2 not understood.
func Main() int {
	return Run(context.Background(), os.Args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Run runs one command line with the providers built in, see Program.Run.
func Run(ctx context.Context, args []string, std Streams) int {
	return Program{Providers: providers()}.Run(ctx, args, std)
}

// Run runs one command line, of which args[0] is the program's name as it was typed, and returns its exit code. An error
// is written once to std.Err.
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
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(std.Err, "See '%s --help'.\n", usage.command)
		return exitUsage
	}
	return exitError
}

func (p Program) newRootCmd(program string, std Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "bowline",
		Short: "A control plane for managed services",
		Long: `Bowline is a control plane for managed services: you declare a database as a Kubernetes object, Bowline makes the real
one, keeps it as declared and hands you its credentials in a Secret. It needs no cluster: one program holds everything.`,
		Example: `  bowline up --detach                         start everything, in the background
  bowline kubectl get managed                 see what it manages
  bowline status                              see what runs
  bowline down                                stop everything`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:          knownCommand,
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{command: cmd.CommandPath(), err: err}
	})
	folder := &dataDirFlag{}
	folder.register(root.PersistentFlags())
	root.AddCommand(
		newUpCmd(program, p.Providers, std, folder),
		newDownCmd(std, folder),
		newStatusCmd(std, folder),
		newTraceCmd(std, folder),
		newWhyCmd(std, folder),
		newLeaksCmd(std, folder),
		newKubectlCmd(std, folder),
		newAPIServerCmd(std, folder),
		newControllersCmd(p, std),
		newCloudCmd(std, folder),
		newUserCmd(program, std, folder),
		newRBACCmd(p.Providers, std),
		newGenerateCmd(std),
		newVersionCmd(std),
	)
	return root
}

// knownCommand refuses a word that is no subcommand, with the ones that look like it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters; cobra sets it only for what it checks itself
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &usageError{command: cmd.CommandPath(), err: errors.New(text)}
}

// noArgs refuses arguments that are not flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("%s takes no argument, got %q", cmd.Name(), args[0])}
}

// usageError reports a command line that was not understood.
type usageError struct {
	command string // the command whose help explains
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exitCodeError ends the program with a code when all that is to be said was said.
type exitCodeError struct{ code int }

func (e *exitCodeError) Error() string { return fmt.Sprintf("exit code %d", e.code) }
