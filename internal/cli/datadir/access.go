// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
)

// Access is the flags --kubeconfig and --context: which API server a command means, and as whom.
type Access struct {
	File, Context string
	InPod         bool // without both, and without a running server, the service account of the pod is used
}

// token of the service account of a pod.
const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// AddFlags registers the flags.
func (a *Access) AddFlags(flags *pflag.FlagSet) {
	usage := "kubeconfig file (default: the administrator's of --data-dir, else $KUBECONFIG, else the administrator's of the only running server"
	if a.InPod {
		usage += ", else the service account of the pod"
	}
	flags.StringVar(&a.File, "kubeconfig", "", usage+")")
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

// CheckEnvironment returns an error if $KUBECONFIG is used, and none of its files exists.
func (f *Flag) CheckEnvironment() error {
	from := f.FromEnvironment()
	for _, file := range filepath.SplitList(from) {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	if from == "" {
		return nil
	}
	return fmt.Errorf("$%s names %s, which does not exist: correct it, unset it, or name a file with --kubeconfig or a folder with --data-dir",
		clientcmd.RecommendedConfigPathEnvVar, ShellQuote(from))
}

// Connect returns how to reach the API server that is meant, and the namespace there.
func (f *Flag) Connect(a Access) (cfg *rest.Config, namespace string, err error) {
	chosen, err := f.Config(a)
	if err != nil {
		return nil, "", err
	}
	if cfg, err = chosen.ClientConfig(); err == nil {
		namespace, _, err = chosen.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig: %w", err)
	}
	return cfg, namespace, nil
}

// Config returns how to find the API server that is meant, and who asks it.
func (f *Flag) Config(a Access) (clientcmd.ClientConfig, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: a.File}
	if from := f.FromEnvironment(); a.File == "" && from != "" {
		if err := f.CheckEnvironment(); err != nil {
			return nil, err
		}
		rules.Precedence = filepath.SplitList(from)
	} else if a.File == "" {
		dataDir, err := f.Running()
		if _, none := errors.AsType[*notRunningError](err); none && a.InPod && cmp.Or(f.Value, os.Getenv(Variable)) == "" {
			if _, missing := os.Stat(token); missing == nil { // rules without a path mean the service account
				return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}), nil
			}
		}
		if err != nil {
			return nil, err
		}
		rules.ExplicitPath = controlplane.KubeconfigPath(dataDir)
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.Context}), nil
}
