// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
)

// Access is the flags --kubeconfig and --context: which API server a command means, and as whom.
type Access struct{ File, Context string }

// AddFlags registers the flags.
func (a *Access) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.File, "kubeconfig", "",
		"kubeconfig file (default: the administrator's of --data-dir, else $KUBECONFIG, else the administrator's of the only running server, "+
			"else the service account of the pod)")
	flags.StringVar(&a.Context, "context", "", "context of the kubeconfig (default: its current one)")
}

// String returns the flags that were given, as the end of a command line.
func (a *Access) String() (line string) {
	if a.File != "" {
		line += " --kubeconfig " + ShellQuote(a.File)
	}
	if a.Context != "" {
		line += " --context " + ShellQuote(a.Context)
	}
	return line
}

// FromEnvironment returns $KUBECONFIG, unless a data folder is named, which tells more precisely what is meant.
func (f *Flag) FromEnvironment() string {
	if cmp.Or(f.Value, os.Getenv(Variable)) != "" {
		return ""
	}
	return os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
}

// Config returns how to reach the API server that is meant.
func (f *Flag) Config(a Access) (clientcmd.ClientConfig, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: a.File}
	if from := f.FromEnvironment(); a.File == "" && from != "" {
		rules.Precedence = filepath.SplitList(from)
	} else if a.File == "" {
		dataDir, err := f.Running()
		inPod := cmp.Or(f.Value, os.Getenv(Variable)) == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
		switch {
		case err == nil:
			rules.ExplicitPath = controlplane.KubeconfigPath(dataDir)
		case !inPod: // else without a path, which is the service account
			return nil, err
		}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.Context}), nil
}
