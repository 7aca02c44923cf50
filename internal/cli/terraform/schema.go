// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

func newSchema(o *controller.Options, std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	var name, namespace string
	var access datadir.Access
	cmd := &cobra.Command{
		Use:   "schema NAME|BINARY|FILE [TYPE...]",
		Short: "List the resource types of a Terraform provider, or print manifests of some",
		Long: `Without a TYPE it lists the resource types of a Terraform provider, and the kinds that Bowline makes of them. With some it prints a
manifest of each to fill in: required fields with placeholders such as <string>, and all others as comments. A secret is a field ...SecretRef,
which selects the key of a Secret.

NAME is a TerraformProvider of the control plane, whose binary has to be on this machine, too, in the folders of --terraform-plugins or among
what the controllers of the data folder downloaded.
BINARY is the path of the provider, such as terraform-provider-postgresql_v1.26.0 in a folder .terraform/providers. It is started to read its
schemas, and needs no configuration. FILE is the output of terraform providers schema -json, which has those of all providers of a
configuration.

With -o json or -o yaml it prints the list as data, of all types or of those that are named.`,
		Example: `  bowline terraform schema postgresql postgresql_role
  bowline terraform schema ./terraform-provider-postgresql
  bowline terraform schema ./terraform-provider-postgresql postgresql_role > role.yaml
  bowline terraform schema ./terraform-provider-postgresql postgresql_role --namespace shop
  terraform providers schema -json > schemas.json; bowline terraform schema schemas.json -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Usagef(cmd, "name a TerraformProvider, a provider binary, or the output of terraform providers schema -json")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the TerraformProvider, which is in the API groups of its kinds (default: from NAME, BINARY or FILE)")
	access.AddFlags(cmd.Flags())
	folders.AddFlag(cmd.Flags(), o)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "print manifests of objects in this namespace (default: in the cluster scope)")
	output := command.NewOutput(cmd, "a table, or manifests", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folders.UseDownloads(o, folder)
		sources, err := openSources(cmd.Context(), o, args[0], func() (*inspect.Cluster, string, error) { return open(folder, access) })
		if err != nil {
			return err
		}
		defer source.CloseAll(sources)
		if name != "" && len(sources) != 1 {
			return command.Usagef(cmd, "--name is for one provider, and %s has %d", args[0], len(sources))
		}
		for _, s := range sources {
			if name != "" {
				s.Name = name
			}
			if err := source.CheckName(s.Name); err != nil {
				return fmt.Errorf("%w; choose another with --name", err)
			}
		}
		chosen, err := choose(sources, args[0], args[1:])
		if err != nil {
			return err
		}
		return output.Print(std.Out, chosen, func(w io.Writer, _ string) error {
			if len(args) == 1 {
				return printTypes(w, chosen)
			}
			for i, t := range chosen {
				if i > 0 {
					fmt.Fprintln(w, "---")
				}
				if _, err := io.WriteString(w, t.source.Manifest(t.Type, namespace)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}

// openSources opens what a person names: a TerraformProvider, unless there is a file.
func openSources(ctx context.Context, o *controller.Options, word string, open func() (*inspect.Cluster, string, error)) ([]*source.Provider, error) {
	if !isName(word) {
		return source.Open(ctx, word)
	}
	cluster, _, err := open()
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and no control plane in which to look for a TerraformProvider of that name: %w", word, err)
	}
	s, err := startInstalled(ctx, o, cluster, word)
	return []*source.Provider{s}, err
}

// A resourceType is an entry of the list. The keys of its JSON are an interface.
type resourceType struct {
	Type                 string   `json:"type"`
	Kind                 string   `json:"kind"`
	APIVersion           string   `json:"apiVersion"`           // of the kind in the cluster scope
	NamespacedAPIVersion string   `json:"namespacedAPIVersion"` // of the kind in namespaces
	Required             []string `json:"required"`             // fields of spec.forProvider
	Deprecated           bool     `json:"deprecated,omitempty"`
	Description          string   `json:"description,omitempty"`
	source               *source.Provider
}

// choose returns the named types, or all.
func choose(sources []*source.Provider, from string, names []string) ([]resourceType, error) {
	var all []resourceType
	missing := slices.Clone(names)
	for _, s := range sources {
		for _, name := range slices.Sorted(maps.Keys(s.Types)) {
			if len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
			b := s.Types[name].Block
			t := resourceType{Type: name, Required: []string{}, Deprecated: b.Deprecated, Description: source.OneLine(b.Description), source: s}
			t.APIVersion, t.Kind = s.Kind(name, false)
			t.NamespacedAPIVersion, _ = s.Kind(name, true)
			for _, f := range source.Fields(b) {
				if f.Required {
					t.Required = append(t.Required, f.Name)
				}
			}
			all = append(all, t)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no resource type %s; for a list use: bowline terraform schema %s", strings.Join(missing, ", "), from)
	}
	return all, nil
}

func printTypes(w io.Writer, all []resourceType) error {
	rows := [][]any{{"TYPE", "KIND", "REQUIRED FIELDS", "DEPRECATED"}}
	for _, t := range all {
		group, _, _ := strings.Cut(t.APIVersion, "/")
		deprecated := ""
		if t.Deprecated {
			deprecated = "yes"
		}
		rows = append(rows, []any{t.Type, t.Kind + "." + group, len(t.Required), deprecated})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nIn namespaces the groups are PROVIDER.tf.m.bowline.dev.")
	return err
}
