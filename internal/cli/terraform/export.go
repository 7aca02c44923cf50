// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/configuration"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

// An exporter says which objects to print as Terraform configuration.
type exporter struct {
	providers source.Flag
	access    datadir.Access
	namespace string
	all       bool
}

func newExport(std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	e := &exporter{}
	cmd := &cobra.Command{
		Use:   "export KIND/NAME... | --all",
		Short: "Print objects as Terraform configuration",
		Long: `Prints for each object of a Terraform kind a resource block, with spec.forProvider as arguments, and an import block with its external name
as id. Arguments of spec.initProvider are ignored by later plans (lifecycle.ignore_changes). A field that selects the key of a Secret becomes a
variable; no secret is read. spec.references become expressions if the other object is exported, too. A ProviderConfig that is not the only one of
name default becomes a provider alias, and a comment says which. Nothing is changed.

Objects that Terraform would create once more are left out, such as those without an external name.

BINARY is the path of the provider, which is started to read its schemas, and NAME the name of the TerraformProvider here.

Terraform takes over what it imports: pause or delete the objects then, with annotation bowline.dev/orphan-on-delete=true, so that the resources
stay.`,
		Example: `  bowline terraform export role.postgresql.tf.bowline.dev/orders --provider postgresql=./terraform-provider-postgresql
  bowline terraform export --all --provider postgresql=./terraform-provider-postgresql > main.tf && terraform plan`,
	}
	flags := cmd.Flags()
	e.providers.AddFlags(flags)
	e.access.AddFlags(flags)
	flags.BoolVar(&e.all, "all", false, "export all objects of the providers, in all namespaces unless one is named")
	flags.StringVarP(&e.namespace, "namespace", "n", "", "namespace of the objects (default: that of the kubeconfig)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if e.all == (len(args) > 0) {
			return command.Usagef(cmd, "name objects as KIND/NAME, or all with --all")
		}
		if len(e.providers.Paths) == 0 {
			return command.Usagef(cmd, "name the provider with --provider NAME=BINARY")
		}
		cluster, current, err := open(folder, e.access)
		if err != nil {
			return err
		}
		found, err := e.find(cmd.Context(), cluster, current, args)
		if err != nil {
			return err
		}
		return e.run(cmd.Context(), found, std)
	}
	return cmd
}

// find returns the objects that are named, or all of the providers.
func (e *exporter) find(ctx context.Context, c *inspect.Cluster, current string, names []string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, name := range names {
		r, err := c.Find(ctx, inspect.Query{Words: []string{name}, Namespace: cmp.Or(e.namespace, current)})
		if err != nil {
			return nil, err
		}
		found = append(found, r.Object)
	}
	if !e.all {
		return found, nil
	}
	for _, kind := range c.OfRole(inspect.RoleManaged) {
		provider, _, _ := strings.Cut(kind.Group, ".")
		known := e.providers.Paths[provider] != "" && kind.Group == kinds.Group(provider, source.Scope(kind.Namespaced))
		if !known || e.namespace != "" && !kind.Namespaced {
			continue
		}
		if err := c.EachIn(ctx, kind, e.namespace, func(o *unstructured.Unstructured) { found = append(found, o.DeepCopy()) }); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, errors.New("there are no objects of these providers; for those in a cluster use: bowline kubectl get terraform,clusterterraform -A")
	}
	return found, nil
}

func (e *exporter) run(ctx context.Context, objects []*unstructured.Unstructured, std command.Streams) error {
	sources, err := e.providers.Open(ctx)
	if err != nil {
		return err
	}
	defer source.CloseAll(sources)
	return configuration.Print(std.Out, std.Err, objects, sources)
}
