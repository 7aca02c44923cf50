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
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// An exporter says which objects to print as Terraform configuration.
type exporter struct {
	providers source.Flag
	access    datadir.Access
	namespace string
	all       bool
}

func newExport(o *controller.Options, std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	e := &exporter{}
	cmd := &cobra.Command{
		Use:   "export KIND/NAME... | --all",
		Short: "Print objects as Terraform configuration",
		Long: `Prints for each object of a Terraform kind a resource block, with spec.forProvider as arguments, and an import block with its external name
as id. Arguments of spec.initProvider are ignored by later plans (lifecycle.ignore_changes). A field that selects the key of a Secret becomes a
variable; no secret is read. spec.references become expressions if the other object is exported, too. A ProviderConfig that is not the only one of
name default becomes a provider alias, and a comment says which. Nothing is changed.

Objects that Terraform cannot import are left out, such as those without an external name, and those under deletion.

NAME is the name of a TerraformProvider. BINARY is the path of the provider, which is started to read its schemas. By default it is the one that the
controllers run, if it is on this machine, too, in the folders of --terraform-plugins or among what the controllers of the data folder downloaded.

Terraform takes over what it imports: pause or delete the objects then, with annotation bowline.dev/orphan-on-delete=true, so that the resources
stay.`,
		Example: `  bowline terraform export role.postgresql.tf.bowline.dev/orders --provider postgresql=./terraform-provider-postgresql
  bowline terraform export --all --provider postgresql > main.tf && terraform plan`,
	}
	flags := cmd.Flags()
	e.providers.AddFlags(flags, true)
	folders.AddFlag(flags, o)
	e.access.AddFlags(flags)
	flags.BoolVar(&e.all, "all", false, "export all objects of the providers, in all namespaces unless one is named")
	flags.StringVarP(&e.namespace, "namespace", "n", "", "namespace of the objects (default: that of the kubeconfig)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if e.all == (len(args) > 0) {
			return command.Usagef(cmd, "name objects as KIND/NAME, or all with --all")
		}
		if len(e.providers.Paths) == 0 {
			return command.Usagef(cmd, "name the provider with --provider NAME or --provider NAME=BINARY")
		}
		folders.UseDownloads(o, folder)
		cluster, current, err := open(folder, e.access)
		if err != nil {
			return err
		}
		found, err := e.find(cmd.Context(), cluster, current, args)
		if err != nil {
			return err
		}
		sources, err := e.providers.Open(cmd.Context(), func(name string) (*source.Provider, error) {
			return startInstalled(cmd.Context(), o, cluster, name)
		})
		if err != nil {
			return err
		}
		defer source.CloseAll(sources)
		return configuration.Print(std.Out, std.Err, found, sources)
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
		_, named := e.providers.Paths[provider]
		known := named && kind.Group == kinds.Group(provider, source.Scope(kind.Namespaced))
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
