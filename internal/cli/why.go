// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/why"
)

func newWhyCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	object := &objectFlags{folder: folder}
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
	object.register(cmd)
	output := command.NewOutput(cmd, "text", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := output.Check(cmd); err != nil {
			return err
		}
		cluster, found, err := object.find(cmd.Context(), cmd, args)
		if err != nil {
			return err
		}
		explanation := why.Explain(cmd.Context(), cluster, found)
		return output.Print(std.Out, explanation, func(w io.Writer, _ string) error {
			return why.WriteText(w, explanation, time.Now())
		})
	}
	return cmd
}
