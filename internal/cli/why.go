// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/why"
)

func newWhyCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	object := &objectFlags{folder: folder}
	var output string
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | CLAIM",
		Short: "Say in plain words what an object waits for",
		Long: `Says what an object waits for: what is in the way, the last step, the last error with its reason code, when it is looked at
again, and what to do. For a claim it goes on with the managed resource, as far as you may read it.

An object of any kind is named as KIND/NAME or KIND NAME, a claim also by its name alone. All reasons are explained in
docs/reasons.md. The chain from a claim to its Secret shows: bowline trace CLAIM

The exit code is 0 if the object is fine or its state is explained.`,
		Example: `  bowline why orders -n shop
  bowline why favouritedbinstance/shop-orders-x1b2c
  bowline why providerconfig.fcp.crossplane.io default
  bowline why orders -n shop -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := whyWriters()[output]
			if !ok {
				return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("unknown output %q; there is json", output)}
			}
			cluster, found, err := object.find(cmd.Context(), cmd, args)
			if err != nil {
				return err
			}
			return write(std.Out, why.Explain(cmd.Context(), cluster, found))
		},
	}
	object.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "json (default: text)")
	return cmd
}

func whyWriters() map[string]func(io.Writer, *why.Explanation) error {
	return map[string]func(io.Writer, *why.Explanation) error{
		"":     func(w io.Writer, e *why.Explanation) error { return why.WriteText(w, e, time.Now()) },
		"json": inspect.WriteJSON[why.Explanation],
	}
}
