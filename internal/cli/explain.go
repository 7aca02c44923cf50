// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/trace"
	"github.com/bowline-dev/bowline/internal/cli/why"
)

func newTraceCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace CLAIM | KIND/NAME",
		Short: "Show the objects behind a claim or an application, down to what is in external systems",
		Long: `Shows the chain from a claim to its Secret as a tree: the claim, its class, its managed resource with the configuration, the
external resource and the Secret that the provider publishes, and the claim's copy of that Secret, each with its state and its
last message. Look first at the first node that is not as it should be; for advice use: bowline why KIND/NAME

Of a target it shows the managed resource and the Secret, and of an application or one of its resources also the objects in the cluster, as they
were last seen there.

A claim is named by its name alone, or, like a managed resource, as KIND/NAME or KIND NAME. Objects that you may not read are
shown as "no access". Secrets are compared, but no value is shown.

The exit code is 0 whether or not all objects are well.`,
		Example: `  bowline trace orders -n shop
  bowline trace favouritedbinstance/shop-orders-x1b2c
  bowline trace kubernetesapplication/store -n shop
  bowline trace orders -n shop -o json
  bowline trace orders -n shop -o dot | dot -Tsvg > orders.svg`,
	}
	output := command.NewOutput(cmd, "a tree", "json", "yaml", "dot")
	onObject(cmd, folder, func(ctx context.Context, cluster *inspect.Cluster, found inspect.Reading) error {
		root, err := trace.Build(ctx, cluster, found)
		if err != nil {
			return err
		}
		return output.Print(std.Out, root, func(w io.Writer, format string) error {
			if format == "dot" {
				return trace.WriteDOT(w, root)
			}
			return trace.WriteTree(w, root)
		})
	})
	return cmd
}

func newWhyCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | CLAIM",
		Short: "Explain why an object is not ready, and what to do",
		Long: `Explains why an object is not ready: the causes, the last step, the last error with its reason, when it is reconciled again,
and what to do. For a claim it also explains the managed resource, if you may read that.

An object of any kind is named as KIND/NAME or KIND NAME, a claim also by its name alone. docs/reasons.md explains all
reasons. For the chain from a claim to its Secret use: bowline trace CLAIM

The exit code is 0 if the object is fine or its state is explained.`,
		Example: `  bowline why orders -n shop
  bowline why favouritedbinstance/shop-orders-x1b2c
  bowline why providerconfig.fcp.crossplane.io default
  bowline why orders -n shop -o json`,
	}
	output := command.NewOutput(cmd, "text", "json", "yaml")
	onObject(cmd, folder, func(ctx context.Context, cluster *inspect.Cluster, found inspect.Reading) error {
		explanation := why.Explain(ctx, cluster, found)
		return output.Print(std.Out, explanation, func(w io.Writer, _ string) error {
			return why.WriteText(w, explanation, time.Now())
		})
	})
	return cmd
}

// onObject makes a command run on the object that its arguments and flags select, as the user of the kubeconfig sees it.
func onObject(cmd *cobra.Command, folder *datadir.Flag, run func(context.Context, *inspect.Cluster, inspect.Reading) error) {
	var namespace, kind string
	var access datadir.Access
	flags := cmd.Flags()
	flags.StringVarP(&namespace, "namespace", "n", "", "namespace of the object (default: that of the kubeconfig)")
	flags.StringVar(&kind, "kind", "", "kind of the object, for KIND/NAME (default for a NAME alone: any kind of claim)")
	access.AddFlags(flags)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if kind != "" {
			words = append([]string{kind}, words...)
		}
		q := inspect.Query{Words: words}
		if err := q.Check(); err != nil {
			return command.Usagef(cmd, "%w", err)
		}
		cluster, current, err := openCluster(folder, access)
		if err != nil {
			return err
		}
		if q.Namespace = namespace; namespace == "" {
			q.Namespace = current
		}
		found, err := cluster.Find(cmd.Context(), q)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cluster, found)
	}
}

// openCluster is the inspect.Opener of the commands.
func openCluster(folder *datadir.Flag, access datadir.Access) (*inspect.Cluster, string, error) {
	cfg, namespace, err := folder.Connect(access)
	if err != nil {
		return nil, "", err
	}
	cluster, err := inspect.Connect(cfg)
	return cluster, namespace, err
}
