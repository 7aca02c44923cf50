// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/internal/codegen"
	"github.com/bowline-dev/bowline/pkg/provider"
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

func newRBACCmd(providers []provider.Provider, std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rbac",
		Short: "Print the roles of the controllers and of people, for a cluster",
		Long: `Prints, as YAML, the service account of the controllers with its rights, and the cluster roles bowline-admin, bowline-edit
and bowline-view. These are aggregated to admin, edit and view of Kubernetes: an editor of a namespace may use claims in it.
Teams created with bowline user may list classes by bowline-browse; bind that role to other users that should.

bowline up applies all of this. A cluster needs it once, and again after an update of Bowline.`,
		Example: `  bowline rbac | kubectl apply --server-side -f -`,
		Args:    command.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			definitions, err := provider.Definitions(providers...)
			if err != nil {
				return err
			}
			objects, err := plane.Identities(providers, definitions)
			if err != nil {
				return err
			}
			for _, o := range objects {
				content, err := yaml.Marshal(o.Object)
				if err != nil {
					return fmt.Errorf("encoding %s %s: %w", o.GetKind(), o.GetName(), err)
				}
				if _, err := fmt.Fprintf(std.Out, "---\n%s", content); err != nil {
					return fmt.Errorf("writing roles: %w", err)
				}
			}
			return nil
		},
	}
}
