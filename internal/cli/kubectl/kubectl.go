// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectl is the command bowline kubectl: the kubectl of Kubernetes, built in, and pointed at our server.
package kubectl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// New returns the command.
func New(std command.Streams, folder *datadir.Flag) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--data-dir DIR] …",
		Short: "Run kubectl against the running server",
		Long: fmt.Sprintf(`Runs the built-in kubectl with any of its arguments, as administrator of the server of --data-dir (which comes first), else
of $%s. Without both it works as kubectl does, with --kubeconfig, --context and $KUBECONFIG; without those too, as administrator of the only
running server of this user.`, datadir.Variable),
		Example: `  bowline kubectl get clustermanaged
  bowline kubectl --data-dir ./state apply -f database.yaml`,
		DisableFlagParsing: true, // all flags but a leading --data-dir are kubectl's
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := takeDataDir(folder, args)
			if err != nil {
				return err
			}
			if err := pointKubectl(folder, args); err != nil {
				return err
			}
			return runKubectl(std, args)
		},
	}
}

// takeDataDir reads --data-dir in front of kubectl's arguments, also from before the word kubectl, and returns the rest.
func takeDataDir(folder *datadir.Flag, args []string) ([]string, error) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		if name != "--data-dir" {
			return args, nil
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return nil, &command.UsageError{Command: "bowline kubectl", Err: errors.New("flag needs an argument: --data-dir")}
			}
			value, args = args[0], args[1:]
		}
		folder.Value = value
	}
	return args, nil
}

// pointKubectl makes the server's kubeconfig the default for kubectl and its plugins, unless $KUBECONFIG names one. The file in the user's
// home is never used, since a command must not reach another cluster by mistake.
func pointKubectl(folder *datadir.Flag, args []string) error {
	if folder.FromEnvironment() != "" {
		if needsServer(args) {
			return folder.CheckEnvironment()
		}
		return nil
	}
	kubeconfig := os.DevNull
	dataDir, err := folder.Running()
	switch {
	case err == nil:
		kubeconfig = controlplane.KubeconfigPath(dataDir)
	case needsServer(args):
		return err
	}
	if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
		return fmt.Errorf("setting KUBECONFIG: %w", err)
	}
	return nil
}

// needsServer returns false if the arguments name a server themselves or need none, such as for help. In doubt it returns true.
func needsServer(args []string) bool {
	if len(args) == 0 || slices.Contains([]string{"help", "completion", "options", "plugin", "kustomize", "kuberc"}, args[0]) {
		return false
	}
	for _, arg := range args {
		switch {
		case arg == "--":
			return true
		case arg == "-h", arg == "--help", arg == "--kubeconfig", strings.HasPrefix(arg, "--kubeconfig="):
			return false
		case arg == "--client" && args[0] == "version":
			return false
		}
	}
	return true
}

// runKubectl runs kubectl as its main function does. On an error kubectl prints it and ends the process.
func runKubectl(std command.Streams, args []string) error {
	streams := genericiooptions.IOStreams{In: std.In, Out: std.Out, ErrOut: std.Err}
	arguments := append([]string{"kubectl"}, args...)
	command := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     arguments,
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
			WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams),
		IOStreams: streams,
	})
	command.SetArgs(args)
	if err := cli.RunNoErrOutput(command); err != nil {
		cmdutil.CheckErr(err)
	}
	return nil
}
