// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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
)

func newKubectlCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--data-dir DIR] …",
		Short: "Run kubectl against the server that runs",
		Long: fmt.Sprintf(`Runs the kubectl that is built in, with any of its arguments. It talks, as administrator, to the server of --data-dir
(which comes first), else of $%s, else to the only server of this user that runs. An explicit --kubeconfig wins.`, dataDirVariable),
		Example: `  bowline kubectl get managed
  bowline kubectl --data-dir ./state apply -f database.yaml`,
		DisableFlagParsing: true, // all flags are kubectl's, but for a leading --data-dir
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := folder.takeLeading(args)
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

// takeLeading reads --data-dir in front of kubectl's own arguments and returns the rest. Flags given before the word
// kubectl arrive here too.
func (f *dataDirFlag) takeLeading(args []string) ([]string, error) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		if name != "--data-dir" {
			return args, nil
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return nil, &usageError{command: "bowline kubectl", err: errors.New("flag needs an argument: --data-dir")}
			}
			value, args = args[0], args[1:]
		}
		f.value = value
	}
	return args, nil
}

// pointKubectl makes the server's kubeconfig the default of this process, for kubectl and its plugins. What the user has
// in KUBECONFIG or ~/.kube is never used, so that no other cluster is hit by mistake.
func pointKubectl(folder *dataDirFlag, args []string) error {
	kubeconfig := os.DevNull
	dataDir, err := folder.running()
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

// needsServer tells whether kubectl has to be told where its server is: not when the arguments do, nor for help. In doubt
// it does.
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

// runKubectl runs kubectl as its own main function does. On errors kubectl prints and ends the process by itself.
func runKubectl(std Streams, args []string) error {
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
