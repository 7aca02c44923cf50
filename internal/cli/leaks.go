// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A leak is an object whose external resource may exist without our knowing its name. `bowline leaks -o json` prints a
// list of them; the keys are an interface.
type leak struct {
	Kind      string            `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Since     time.Time         `json:"since"`   // when the creation began
	Deleted   bool              `json:"deleted"` // its deletion waits, too
	LookFor   map[string]string `json:"lookFor"` // labels that the external resource carries where its system has labels
}

func newLeaksCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	var output, kubeconfig string
	cmd := &cobra.Command{
		Use:   "leaks",
		Short: "List objects that wait for a person because a creation was cut off",
		Long: `Lists the managed resources whose creation was cut off at the one moment after which nobody knows whether the external
resource exists, and whose kind offers no way to find out. They wait for you:

  1. Look in the external system for a resource that was made at about that time, or carries these labels.
  2. If there is one, delete it there, or keep it: kubectl annotate KIND NAME crossplane.io/external-name=ITS-NAME
  3. Then let the object go on: kubectl annotate KIND NAME crossplane.io/external-create-pending-

An object that is to be deleted can also be let go without its external resource:
kubectl annotate KIND NAME bowline.dev/orphan-on-delete=true

The exit code is 0 whether or not there are any.`,
		Example: `  bowline leaks
  bowline leaks -o json
  bowline leaks --kubeconfig ~/.kube/config`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, ok := leakWriters()[output]
			if !ok {
				return &usageError{command: cmd.CommandPath(), err: fmt.Errorf("unknown output %q; there are json and yaml", output)}
			}
			if kubeconfig == "" {
				dataDir, err := folder.client()
				if err != nil {
					return err
				}
				kubeconfig = controlplane.KubeconfigPath(dataDir)
			}
			leaks, err := findLeaks(cmd.Context(), kubeconfig)
			if err != nil {
				return fmt.Errorf("looking for leaks: %w", err)
			}
			return write(std.Out, leaks)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml (default: a table)")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of another API server (default: that of the data folder)")
	return cmd
}

// findLeaks returns the objects of all managed kinds that wait for a person.
func findLeaks(ctx context.Context, kubeconfig string) ([]leak, error) {
	leaks := []leak{}
	err := eachManaged(ctx, kubeconfig, func(o *unstructured.Unstructured) {
		if l, waits := leakOf(o); waits {
			leaks = append(leaks, l)
		}
	})
	return leaks, err
}

// leakOf tells whether an object waits for a person, as the managed reconciler says it.
func leakOf(o *unstructured.Unstructured) (l leak, waits bool) {
	synced := conditionOf(o.Object, string(xpv1.TypeSynced))
	if synced["message"] != managed.MessageCreateIncomplete || !meta.ExternalCreateIncomplete(o) {
		return leak{}, false
	}
	kind := o.GroupVersionKind().GroupKind()
	config, _, _ := unstructured.NestedString(o.Object, "spec", "providerConfigRef", "name")
	labels := meta.GetExternalLabels(o, kind, config)
	return leak{
		Kind:      labels[meta.ExternalLabelKind],
		Namespace: o.GetNamespace(),
		Name:      o.GetName(),
		Since:     meta.GetExternalCreatePending(o),
		Deleted:   meta.WasDeleted(o),
		LookFor:   labels,
	}, true
}

func leakWriters() map[string]func(io.Writer, []leak) error {
	return map[string]func(io.Writer, []leak) error{
		"": writeLeakTable,
		"json": func(w io.Writer, leaks []leak) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(leaks)
		},
		"yaml": func(w io.Writer, leaks []leak) error {
			content, err := yaml.Marshal(leaks)
			if err != nil {
				return err
			}
			_, err = w.Write(content)
			return err
		},
	}
}

func writeLeakTable(w io.Writer, leaks []leak) error {
	if len(leaks) == 0 {
		_, err := fmt.Fprintln(w, "No object waits for a person because of a creation that was cut off.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "KIND\tNAMESPACE\tNAME\tSINCE\tLOOK FOR\n")
	for _, l := range leaks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s=%s\n", l.Kind, l.Namespace, l.Name, l.Since.Local().Format(time.DateTime),
			meta.ExternalLabelUID, l.LookFor[meta.ExternalLabelUID])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nWhat to do: bowline leaks --help")
	return err
}
