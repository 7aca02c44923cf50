// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/meta"
)

const (
	cluster    = "cluster"
	namespaced = "namespaced"
	// mostErrors that are shown.
	mostErrors = 20
)

// An importer says which manifests to make of a state.
type importer struct {
	providers   source.Flag
	scope       string
	namespace   string // of the objects, or of the Secrets of cluster-scoped ones
	withSecrets bool
}

func newImport(std command.Streams) *cobra.Command {
	im := &importer{scope: cluster}
	cmd := &cobra.Command{
		Use:   "import FILE|DIR|- --provider NAME=BINARY",
		Short: "Print manifests of objects for what a Terraform state has",
		Long: `Reads a Terraform state (version 4) and prints manifests: one object for each resource instance, which only observes it, with its id as
external name. Required and optional arguments are in spec.forProvider. Those that the provider may have chosen are in spec.initProvider, by
which they stay as they are outside: move to spec.forProvider what Bowline is to keep. A text that is the id of a resource on which another
depends becomes an item of spec.references. Nothing is changed, neither outside nor in the state.

FILE is a state, DIR a folder with terraform.tfstate, and - the standard input. BINARY is the path of the provider, which terraform init puts
below .terraform/providers; it is started to read its schemas, and makes no call to the external system. NAME is the name of the
TerraformProvider here. Resources with a provider alias get the ProviderConfig of that name.

Secrets are not printed: fields ...SecretRef select keys of a Secret for each object, whose manifest has the keys to fill in. With
--with-secrets the Secrets have the values of the state, including passwords that the provider generated, which may be nowhere else.

An object is imported by its id. Where the documentation of a resource type names another import id, correct the external name.`,
		Example: `  bowline terraform import . --provider postgresql=.terraform/providers/…/terraform-provider-postgresql > objects.yaml
  terraform state pull | bowline terraform import - --provider aws=./terraform-provider-aws --scope namespaced -n shop`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usagef(cmd, "name one state: FILE, DIR or - for the standard input")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	im.providers.AddFlags(flags, false)
	flags.StringVar(&im.scope, "scope", im.scope, "scope of the objects: "+cluster+" or "+namespaced)
	flags.StringVarP(&im.namespace, "namespace", "n", "default", "namespace of the objects, or of the Secrets of cluster-scoped ones")
	flags.BoolVar(&im.withSecrets, "with-secrets", false, "print the secrets of the state, in manifests of Secrets")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := im.check(); err != nil {
			return command.Usagef(cmd, "%w", err)
		}
		s, err := readState(args[0], std.In)
		if err != nil {
			return err
		}
		return im.run(cmd.Context(), s, std)
	}
	return cmd
}

func (im *importer) check() error {
	if len(im.providers.Paths) == 0 {
		return errors.New("name the provider with --provider NAME=BINARY")
	}
	if im.scope != cluster && im.scope != namespaced {
		return fmt.Errorf("unknown scope %q; use %s or %s", im.scope, cluster, namespaced)
	}
	if problems := validation.IsDNS1123Label(im.namespace); len(problems) > 0 {
		return fmt.Errorf("%q cannot be a namespace: %s", im.namespace, strings.Join(problems, "; "))
	}
	return nil
}

func (im *importer) run(ctx context.Context, s *stored, std command.Streams) error {
	sources, err := im.providers.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer source.CloseAll(sources)
	r := &reading{sources: sources}
	all := r.instances(ctx, s)
	if len(r.errs) > 0 {
		return command.JoinFirst(mostErrors, r.errs)
	}
	for _, reason := range r.skipped {
		fmt.Fprintln(std.Err, "Left out: "+reason)
	}
	if len(all) == 0 {
		return errors.New("the state has no resource to import")
	}
	nameAll(all)
	for n, i := range all {
		if n > 0 {
			fmt.Fprintln(std.Out, "---")
		}
		if err := im.print(std.Out, i, all); err != nil {
			return err
		}
	}
	im.explain(std.Err, all)
	return nil
}

// print writes the Secret of an instance, if it needs one, and its object.
func (im *importer) print(w io.Writer, i *instance, all []*instance) error {
	d := &declarer{of: i, withValues: im.withSecrets, refer: referrer(i, all, im.scope == namespaced)}
	d.selector = func(key string) any {
		ref := map[string]any{"name": i.secretName, "key": key}
		if im.scope == cluster {
			ref["namespace"] = im.namespace
		}
		return ref
	}
	spec := map[string]any{"forProvider": d.settings(), "managementPolicies": xpv1.ManagementPolicies{xpv1.ManagementActionObserve}}
	if len(d.initial) > 0 {
		spec["initProvider"] = d.initial
	}
	if len(d.references) > 0 {
		spec["references"] = d.references
	}
	if i.config != "" {
		ref := map[string]any{"name": label(i.config)}
		if im.scope == namespaced {
			ref["kind"] = xpv1.ClusterProviderConfigKind
		}
		spec["providerConfigRef"] = ref
	}
	if len(d.keys) > 0 {
		if err := im.printSecret(w, i, d); err != nil {
			return err
		}
	}
	for _, line := range i.comments() {
		fmt.Fprintln(w, "# "+inspect.Plain(line))
	}
	apiVersion, kind := i.source.Kind(i.of.Type, im.scope == namespaced)
	metadata := im.metadata(i.name, im.scope == namespaced)
	metadata["annotations"] = map[string]any{meta.AnnotationKeyExternalName: i.id}
	return printYAML(w, map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec})
}

func (im *importer) metadata(name string, inNamespace bool) map[string]any {
	m := map[string]any{"name": name}
	if inNamespace {
		m["namespace"] = im.namespace
	}
	return m
}

func (im *importer) printSecret(w io.Writer, i *instance, d *declarer) error {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": im.metadata(i.secretName, true)}
	if len(d.values) > 0 {
		secret["stringData"] = d.values
	}
	fmt.Fprintln(w, "# Secrets of "+inspect.Plain(i.address))
	if err := printYAML(w, secret); err != nil {
		return err
	}
	missing := slices.DeleteFunc(d.keys, func(key string) bool { _, has := d.values[key]; return has })
	if len(missing) > 0 {
		fmt.Fprintln(w, "# Add these keys before you apply the manifest:")
		if len(d.values) == 0 {
			fmt.Fprintln(w, "# stringData:")
		}
		for _, key := range missing {
			fmt.Fprintf(w, "#   %s: <value>\n", key)
		}
	}
	fmt.Fprintln(w, "---")
	return nil
}

// comments say where an object is from, and what is not in it.
func (i *instance) comments() []string {
	lines := []string{i.address}
	if i.tainted {
		lines = append(lines, "Terraform marks it as tainted: its creation failed in part, and Terraform would replace it.")
	}
	for _, a := range i.computed(true) {
		lines = append(lines, source.FieldName(i.of.Schema.Block, a.Name)+" is not imported: if the provider does not return it, only the state has it.")
	}
	return append(lines, i.notes...)
}

func printYAML(w io.Writer, object map[string]any) error {
	data, err := yaml.Marshal(object)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// explain prints what to do with the manifests.
func (im *importer) explain(w io.Writer, all []*instance) {
	names := map[string]string{} // by kind: of its objects
	for _, i := range all {
		names[i.source.Resource(i.of.Type, im.scope == namespaced)] = i.name
	}
	kind := slices.Sorted(maps.Keys(names))[0]
	in := ""
	if im.scope == namespaced {
		in = " -n " + datadir.ShellQuote(im.namespace)
	}
	if im.withSecrets {
		fmt.Fprintln(w, "Warning: the manifests contain secret values. Do not commit them, and delete them after you applied them.")
	}
	fmt.Fprintf(w, `Objects: %d, kinds: %d. They only observe: nothing is changed outside.

  1. Read the manifests, fill in Secrets, and apply them: bowline kubectl apply -f FILE
  2. Review each object. Its status.drift lists fields that differ: bowline kubectl get %[3]s %[4]s%[5]s -o yaml
  3. When all have condition Synced, look at what Bowline would change if it managed them:
     sed 's/^  - Observe$/  - "*"/' FILE > managed.yaml; bowline plan -f managed.yaml
     That may be more than the drift of an object that only observes. Correct managed.yaml until the plan has only what you want.
  4. Take them from Terraform: terraform state rm ADDRESS
  5. Let Bowline manage them: bowline kubectl apply -f managed.yaml
`, len(all), len(names), kind, names[kind], in)
}
