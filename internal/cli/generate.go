// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/codegen"
)

func newGenerateCmd(std Streams) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "generate FOLDER...",
		Short: "Generate Go code and custom resource definitions from API types",
		Long: `Generates from the API types below each folder: methods, lists, init parameters, the second scope, resolvers of references,
deepcopy functions and custom resource definitions. It prints the changed files. If it finds mistakes in the types, it prints
them as file:line:column and writes nothing.`,
		Example: `  bowline generate ./apis/...
  bowline generate --check ./apis/...         in CI: fail if a generated file is out of date`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
				return command.Usagef(cmd, "%w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, folders []string) error {
			return codegen.Command(cmd.Context(), std.Out, ".", check, folders...)
		},
	}
	cmd.Flags().BoolVar(&check, "check", check, "write nothing, and fail if a file is out of date")
	return cmd
}
