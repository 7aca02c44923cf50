// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/codegen"
)

func newGenerateCmd(std Streams) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "generate FOLDER...",
		Short: "Write the Go and the definitions that follow from API types",
		Long: `Write what follows from the API types below each folder: methods, lists, init parameters, the second scope, resolvers of
references, deepcopy functions and custom resource definitions. It prints the files that it changed, or, as
file:line:column, what is wrong with the types; then it writes nothing.`,
		Example: `  bowline generate ./apis/...
  bowline generate --check ./apis/...         in CI: fail if something was forgotten`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
				return &usageError{command: cmd.CommandPath(), err: err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, folders []string) error {
			return codegen.Command(cmd.Context(), std.Out, ".", check, folders...)
		},
	}
	cmd.Flags().BoolVar(&check, "check", check, "write nothing, and fail if there is something to write")
	return cmd
}
