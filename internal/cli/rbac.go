// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/provider"
)

func newRBACCmd(providers []provider.Provider, std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rbac",
		Short: "Print the roles of the controllers and of people, for a cluster",
		Long: `Prints, as YAML, the service account of the controllers with its rights, and the cluster roles bowline-admin, bowline-edit
and bowline-view. These are aggregated to admin, edit and view of Kubernetes: an editor of a namespace may use claims in it.
Teams created with bowline user may list classes by bowline-browse; bind that role to anybody else who should.

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
