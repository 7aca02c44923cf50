// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/trace"
)

func newTraceCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	object := &objectFlags{folder: folder}
	var output string
	cmd := &cobra.Command{
		Use:   "trace CLAIM | KIND/NAME",
		Short: "Show what hangs on a claim: class, managed resource, external resource, Secrets",
		Long: `Shows the chain from a claim to its Secret as a tree: the claim, its class, its managed resource with the configuration, the
external resource and the Secret that the provider publishes, and the claim's copy of that Secret. Each has its state and what
it last said. The first that is not as it should be is where to look next; what to do about it says: bowline why KIND/NAME

A claim is named by its name alone, or, like a managed resource, as KIND/NAME or KIND NAME. Objects that you may not read are
shown as such, and the rest goes on. Secrets are compared, but no value is shown.

The exit code is 0 whether or not all is well.`,
		Example: `  bowline trace orders -n shop
  bowline trace favouritedbinstance/shop-orders-x1b2c
  bowline trace orders -n shop -o json
  bowline trace orders -n shop -o dot | dot -Tsvg > orders.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := traceWriters()[output]
			if !ok {
				return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("unknown output %q; there are json and dot", output)}
			}
			cluster, found, err := object.find(cmd.Context(), cmd, args)
			if err != nil {
				return err
			}
			root, err := trace.Build(cmd.Context(), cluster, found)
			if err != nil {
				return err
			}
			return write(std.Out, root)
		},
	}
	object.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or dot, for Graphviz (default: a tree)")
	return cmd
}

func traceWriters() map[string]func(io.Writer, *trace.Node) error {
	return map[string]func(io.Writer, *trace.Node) error{"": trace.WriteTree, "json": inspect.WriteJSON[trace.Node], "dot": trace.WriteDOT}
}
