// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
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
variable; no secret is read. spec.references become expressions if the other object is exported, too. Nothing is changed.

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
	all, err := resources(objects, sources)
	if err != nil {
		return err
	}
	file := hclwrite.NewEmptyFile()
	for i, r := range all {
		if i > 0 {
			file.Body().AppendNewline()
		}
		r.write(file.Body(), func(ref map[string]any) *resource { return r.find(ref, all) })
	}
	if _, err := std.Out.Write(hclwrite.Format(file.Bytes())); err != nil {
		return err
	}
	for _, r := range all {
		for _, problem := range r.problems {
			fmt.Fprintln(std.Err, inspect.Plain(problem))
		}
	}
	return nil
}

// resources returns the resource of each object, with a name that no other of its type has.
func resources(objects []*unstructured.Unstructured, sources []*source.Provider) ([]*resource, error) {
	var all []*resource
	for _, o := range objects {
		r := &resource{Unstructured: o}
		for _, s := range sources {
			for name, t := range s.Types {
				if apiVersion, kind := s.Kind(name, o.GetNamespace() != ""); o.GetAPIVersion() == apiVersion && o.GetKind() == kind {
					r.source, r.of, r.block = s, name, t.Block
				}
			}
		}
		if r.source == nil {
			return nil, fmt.Errorf("%s: no provider that is given has kind %s of %s: add --provider NAME=BINARY, where NAME is the first part of the group",
				r, o.GetKind(), o.GetAPIVersion())
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *resource) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	taken := map[string]bool{}
	for _, r := range all {
		r.name = identifier(r.GetName())
		if taken[r.of+"."+r.name] {
			r.name = identifier(r.GetNamespace() + "_" + r.GetName())
		}
		for taken[r.of+"."+r.name] {
			r.name += "_"
		}
		taken[r.of+"."+r.name] = true
	}
	return all, nil
}

// find returns the resource of an item of spec.references.
func (r *resource) find(ref map[string]any, all []*resource) *resource {
	text := func(key, otherwise string) string { s, _ := ref[key].(string); return cmp.Or(s, otherwise) }
	apiVersion, kind := text("apiVersion", r.GetAPIVersion()), text("kind", "")
	at := inspect.Path(text("namespace", r.GetNamespace()), text("name", ""))
	for _, other := range all {
		if other.GetAPIVersion() == apiVersion && other.GetKind() == kind && inspect.Path(other.GetNamespace(), other.GetName()) == at {
			return other
		}
	}
	return nil
}
