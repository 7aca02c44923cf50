// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan is the command plan, which says what the controllers would do outside: for objects of a control plane, for what a manifest would
// make of them, and for their deletion.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/outside"
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// A planner says what to plan.
type planner struct {
	providers []provider.Provider
	access    datadir.Access
	namespace string
	file      string
	all       bool
	deletion  bool
}

// New returns the command. Providers of Terraform are run as the options say, which are nil for none.
func New(providers []provider.Provider, terraform *controller.Options, std command.Streams, folder *datadir.Flag) *cobra.Command {
	p := &planner{providers: providers}
	cmd := &cobra.Command{
		Use:   "plan KIND/NAME... | -f FILE | --all",
		Short: "Show what would be done to external resources",
		Long: `Shows what the controllers would do to the external resources of managed resources: create, update with the fields that change, delete, or
replace them, which a change of a Terraform kind may need, and a person has to permit. Nothing is changed.

With -f it is about the objects that kubectl apply would make of a manifest, which the API server checks and completes. Objects of other kinds in
the file are left out: what the managed resources need, such as ProviderConfigs and Secrets, has to exist. With --delete it is about the deletion
of objects.

Every external resource is observed once, as the controllers do each minute, with the credentials of the ProviderConfigs. So the external systems
have to be in reach from here, and you need the right to read all Secrets. The binaries of TerraformProviders have to be on this machine, in the
folders of --terraform-plugins or among what the controllers of the data folder downloaded. No other program is run.

The exit code is 1 if something could not be planned, and 0 otherwise.`,
		Example: `  bowline plan -f database.yaml
  bowline plan --all
  bowline plan database.favouritecloud.tf.m.bowline.dev/orders -n shop --delete`,
	}
	flags := cmd.Flags()
	p.access.AddFlags(flags)
	folders.AddFlag(flags, terraform)
	flags.StringVarP(&p.file, "filename", "f", "", "manifest or folder of manifests, - for the standard input")
	flags.BoolVar(&p.all, "all", false, "plan for all managed resources, in all namespaces unless one is named")
	flags.BoolVar(&p.deletion, "delete", false, "plan for the deletion of the objects")
	flags.StringVarP(&p.namespace, "namespace", "n", "", "namespace of the objects (default: that of the kubeconfig)")
	output := command.NewOutput(cmd, "text", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if p.all == (len(words) > 0) == (p.file == "") || p.all && len(words) > 0 {
			return command.Usagef(cmd, "name objects as KIND/NAME, or a manifest with -f, or all with --all")
		}
		folders.UseDownloads(terraform, folder)
		cfg, current, err := folder.Connect(p.access)
		if err != nil {
			return err
		}
		objects, err := p.objects(cmd.Context(), cfg, cmp.Or(p.namespace, current), folder, words, std)
		if err != nil {
			return err
		}
		results, err := p.plan(cmd.Context(), cfg, objects, std.Err)
		if err != nil {
			return err
		}
		if err := output.Print(std.Out, results, func(w io.Writer, _ string) error { return printResults(w, results) }); err != nil {
			return err
		}
		if slices.ContainsFunc(results, func(r result) bool { return r.Error != "" }) {
			return errors.New("not everything could be planned: see the errors above")
		}
		return nil
	}
	return cmd
}

// objects returns what to plan for.
func (p *planner) objects(ctx context.Context, cfg *rest.Config, namespace string, folder *datadir.Flag, words []string, std command.Streams) (
	all []*unstructured.Unstructured, err error) {
	cluster, err := inspect.Connect(cfg)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		r, err := cluster.Find(ctx, inspect.Query{Words: []string{word}, Namespace: namespace})
		if err != nil {
			return nil, err
		}
		if r.Kind.Role() != inspect.RoleManaged {
			return nil, fmt.Errorf("%s is no managed resource, and has no external resource: for that of a claim see bowline trace", word)
		}
		all = append(all, r.Object)
	}
	if p.file != "" {
		at, err := newGetter(cfg, folder, p.access, p.namespace)
		if err != nil {
			return nil, err
		}
		return applied(at, p.file, cluster, std)
	}
	if !p.all {
		return all, nil
	}
	for _, kind := range cluster.OfRole(inspect.RoleManaged) {
		if p.namespace != "" && !kind.Namespaced {
			continue
		}
		if err := cluster.EachIn(ctx, kind, p.namespace, func(o *unstructured.Unstructured) { all = append(all, o.DeepCopy()) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A result is the plan for an object. The keys of its JSON are an interface.
type result struct {
	Kind      string                 `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string                 `json:"namespace,omitempty"`
	Name      string                 `json:"name"`
	Action    managed.PlannedAction  `json:"action,omitempty"` // Create, Update, Replace, Delete or Nothing; none with an error
	Fields    []xpv1.FieldDifference `json:"fields,omitempty"` // that the action sets
	Unsettled bool                   `json:"unsettled"`        // something stays wrong in spite of the action: see message
	Message   string                 `json:"message,omitempty"`
	Error     string                 `json:"error,omitempty"` // why there is no plan
}

func resultOf(o client.Object) result {
	kind := o.GetObjectKind().GroupVersionKind().GroupKind()
	return result{Kind: strings.ToLower(kind.String()), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// plan plans for all objects, also after an error of one.
func (p *planner) plan(ctx context.Context, cfg *rest.Config, objects []*unstructured.Unstructured, progress io.Writer) ([]result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	providers, missing, err := outside.Discover(ctx, cfg, p.providers)
	if err != nil {
		return nil, err
	}
	systems, err := outside.Connect(ctx, stop, cfg, progress, providers)
	if err != nil {
		return nil, err
	}
	defer systems.Close()
	writer, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	results := []result{} // in JSON, none is an empty list
	fail := func(o client.Object, err error) {
		r := resultOf(o)
		r.Error = err.Error()
		results = append(results, r)
	}
	var known []outside.Object
	for _, o := range objects {
		object, ok, err := systems.Object(o)
		switch {
		case err != nil:
			fail(o, err)
		case !ok:
			fail(o, cmp.Or(errors.Join(missing...), errors.New("this program does not have the kind")))
		default:
			known = append(known, object)
		}
	}
	do := func(ctx context.Context, o outside.Object) (managed.Plan, error) {
		if p.deletion {
			if err := client.IgnoreNotFound(writer.Delete(ctx, o.Managed, client.DryRunAll)); err != nil {
				return managed.Plan{}, fmt.Errorf("the API server refuses to delete it: %w", err)
			}
			o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		}
		return o.Reconciler.Plan(ctx, o.Managed)
	}
	err = outside.ForEach(ctx, systems, known, do, func(o outside.Object, plan managed.Plan, err error) {
		if err != nil {
			fail(o, err)
			return
		}
		r := resultOf(o)
		r.Action, r.Fields, r.Unsettled, r.Message = plan.Action, plan.Fields, plan.Unsettled, plan.Message
		results = append(results, r)
	})
	for _, system := range systems.NotReached() {
		for _, o := range known {
			if slices.Contains(system.Objects, o.Path) && o.GetObjectKind().GroupVersionKind().GroupKind() == system.Kind {
				fail(o, system.Why)
			}
		}
	}
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return results, err
}

// printResults prints what is to be done or known, and counts.
func printResults(w io.Writer, all []result) error {
	const blocked managed.PlannedAction = "Blocked" // shown for what a person has to decide
	count := map[managed.PlannedAction]int{}
	for _, r := range all {
		if r.Action == managed.PlanNothing && r.Unsettled {
			r.Action = blocked
		}
		count[r.Action]++
		about := r.Kind + " " + inspect.Path(r.Namespace, r.Name)
		switch {
		case r.Error != "":
			fmt.Fprintf(w, "Error: %s: %s\n", about, inspect.Plain(r.Error))
		case r.Action != managed.PlanNothing || r.Message != "":
			fmt.Fprintf(w, "%s: %s\n", r.Action, about)
		}
		for _, f := range r.Fields {
			fmt.Fprintf(w, "    %s: %s\n", inspect.Plain(f.Path), inspect.Plain(change(f)))
		}
		if r.Message != "" {
			fmt.Fprintf(w, "    %s\n", inspect.Plain(r.Message))
		}
	}
	_, err := fmt.Fprintf(w, "Objects: %d. To create: %d, to update: %d, to replace: %d, to delete: %d, nothing to do: %d, blocked: %d, errors: %d\n", len(all),
		count[managed.PlanCreate], count[managed.PlanUpdate], count[managed.PlanReplace], count[managed.PlanDelete], count[managed.PlanNothing], count[blocked], count[""])
	return err
}

func change(f xpv1.FieldDifference) string {
	const unset = "unset"
	if f.Observed == "" || f.Observed == "null" {
		return cmp.Or(f.Desired, unset)
	}
	return f.Observed + " -> " + cmp.Or(f.Desired, unset)
}
