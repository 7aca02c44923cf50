// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// objectFlags select one object of one server.
type objectFlags struct {
	folder     *datadir.Flag
	namespace  string
	kind       string
	kubeconfig string
}

func (f *objectFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the object (default: that of the kubeconfig)")
	flags.StringVar(&f.kind, "kind", "", "kind of the object, for KIND/NAME (default for a NAME alone: any kind of claim)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of another user or API server (default: that of the data folder)")
}

// find returns the object that the arguments of a command name, as the user of the kubeconfig sees it.
func (f *objectFlags) find(ctx context.Context, cmd *cobra.Command, args []string) (*inspect.Cluster, inspect.Reading, error) {
	words := args
	if f.kind != "" {
		words = append([]string{f.kind}, args...)
	}
	if err := (inspect.Query{Words: words}).Check(); err != nil {
		return nil, inspect.Reading{}, command.Usagef(cmd, "%w", err)
	}
	if f.kubeconfig == "" {
		dataDir, err := f.folder.Running()
		if err != nil {
			return nil, inspect.Reading{}, err
		}
		f.kubeconfig = controlplane.KubeconfigPath(dataDir)
	}
	cluster, namespace, err := connect(f.kubeconfig)
	if err != nil {
		return nil, inspect.Reading{}, err
	}
	if f.namespace != "" {
		namespace = f.namespace
	}
	found, err := cluster.Find(ctx, inspect.Query{Words: words, Namespace: namespace})
	return cluster, found, err
}

// connect returns the server and the default namespace of a kubeconfig.
func connect(kubeconfig string) (*inspect.Cluster, string, error) {
	chosen := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{})
	cfg, err := chosen.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig: %w", err)
	}
	namespace, _, err := chosen.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig: %w", err)
	}
	cluster, err := inspect.Connect(cfg)
	return cluster, namespace, err
}
