// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A leak is an object whose external resource may exist under an unknown name. The keys of its JSON are an interface.
type leak struct {
	Kind      string            `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Since     time.Time         `json:"since"`   // start of the create
	Deleted   bool              `json:"deleted"` // the object is being deleted
	LookFor   map[string]string `json:"lookFor"` // labels of the external resource, in systems that have labels
}

func newLeaksCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "leaks",
		Short: "List objects that need manual intervention after an interrupted create",
		Long: `Lists managed resources whose create was interrupted before its result was recorded, and whose kind cannot search for what
was created. The external resource may or may not exist. For each of them:

  1. Look in the external system for a resource that was created at about that time, or has these labels.
  2. If there is one, delete it there, or keep it: kubectl annotate KIND NAME crossplane.io/external-name=ITS-NAME
  3. Then resume reconciliation: kubectl annotate KIND NAME crossplane.io/external-create-pending-

To finish the deletion of an object without deleting its external resource:
kubectl annotate KIND NAME bowline.dev/orphan-on-delete=true

The exit code is 0 whether or not there are any.`,
		Example: `  bowline leaks
  bowline leaks -o json
  bowline leaks --kubeconfig ~/.kube/config`,
		Args: command.NoArgs,
	}
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of another API server (default: that of the data folder)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := datadir.Kubeconfig(kubeconfig, folder.Client)
		if err != nil {
			return err
		}
		leaks, err := findLeaks(cmd.Context(), path)
		if err != nil {
			return fmt.Errorf("searching for leaks: %w", err)
		}
		return output.Print(std.Out, leaks, func(w io.Writer, _ string) error { return printLeaks(w, leaks) })
	}
	return cmd
}

func findLeaks(ctx context.Context, kubeconfig string) ([]leak, error) {
	cluster, _, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	leaks := []leak{}
	for _, kind := range cluster.OfRole(inspect.RoleManaged) {
		err := cluster.Each(ctx, kind, func(o *unstructured.Unstructured) {
			if l, ok := leakOf(o); ok {
				leaks = append(leaks, l)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return leaks, nil
}

// leakOf returns false for an object that needs no manual intervention.
func leakOf(o *unstructured.Unstructured) (l leak, ok bool) {
	status := inspect.Conditions(o)
	if xpv1.FailureOf(&status).Reason != failure.CreateInterrupted || !meta.ExternalCreateIncomplete(o) {
		return leak{}, false
	}
	labels := meta.GetExternalLabels(o, o.GroupVersionKind().GroupKind(), inspect.Text(o, "spec", "providerConfigRef", "name"))
	return leak{
		Kind: labels[meta.ExternalLabelKind], Namespace: o.GetNamespace(), Name: o.GetName(),
		Since: meta.GetExternalCreatePending(o), Deleted: meta.WasDeleted(o), LookFor: labels,
	}, true
}

func printLeaks(w io.Writer, leaks []leak) error {
	if len(leaks) == 0 {
		_, err := fmt.Fprintln(w, "No object needs manual intervention after an interrupted create.")
		return err
	}
	rows := [][]any{{"KIND", "NAMESPACE", "NAME", "SINCE", "LOOK FOR"}}
	for _, l := range leaks {
		rows = append(rows, []any{l.Kind, l.Namespace, l.Name, l.Since.Local().Format(time.DateTime),
			meta.ExternalLabelUID + "=" + l.LookFor[meta.ExternalLabelUID]})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nWhat to do: bowline leaks --help")
	return err
}
