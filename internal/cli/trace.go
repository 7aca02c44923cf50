// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/trace"
)

func newTraceCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	object := &objectFlags{folder: folder}
	cmd := &cobra.Command{
		Use:   "trace CLAIM | KIND/NAME",
		Short: "Show the objects behind a claim: class, managed resource, external resource, Secrets",
		Long: `Shows the chain from a claim to its Secret as a tree: the claim, its class, its managed resource with the configuration, the
external resource and the Secret that the provider publishes, and the claim's copy of that Secret, each with its state and its
last message. Look first at the first node that is not as it should be; for advice use: bowline why KIND/NAME

A claim is named by its name alone, or, like a managed resource, as KIND/NAME or KIND NAME. Objects that you may not read are
shown as "no access". Secrets are compared, but no value is shown.

The exit code is 0 whether or not all objects are well.`,
		Example: `  bowline trace orders -n shop
  bowline trace favouritedbinstance/shop-orders-x1b2c
  bowline trace orders -n shop -o json
  bowline trace orders -n shop -o dot | dot -Tsvg > orders.svg`,
	}
	object.register(cmd)
	output := command.NewOutput(cmd, "a tree", "json", "dot")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := output.Check(cmd); err != nil {
			return err
		}
		cluster, found, err := object.find(cmd.Context(), cmd, args)
		if err != nil {
			return err
		}
		root, err := trace.Build(cmd.Context(), cluster, found)
		if err != nil {
			return err
		}
		return output.Print(std.Out, root, func(w io.Writer, format string) error {
			if format == "dot" {
				return trace.WriteDOT(w, root)
			}
			return trace.WriteTree(w, root)
		})
	}
	return cmd
}
