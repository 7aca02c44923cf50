// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// An orphan is a managed resource whose claim does not exist. The keys of its JSON are an interface.
type orphan struct {
	Kind         string            `json:"kind"` // as kubectl takes it: <kind>.<group>
	Name         string            `json:"name"`
	ExternalName string            `json:"externalName"`
	Phase        xpv1.BindingPhase `json:"phase"`
	Claim        string            `json:"claim"` // which does not exist: <namespace>/<name>
	ClaimKind    string            `json:"claimKind"`
	Class        string            `json:"class,omitempty"`
	Deleted      bool              `json:"deleted"` // the object is being deleted
}

// NewOrphans makes the command orphans.
func NewOrphans(std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "List managed resources that deleted claims left",
		Args:  command.Subcommand,
		RunE:  command.ShowHelp,
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List managed resources that were released, or whose claim does not exist",
		Long: `Lists managed resources that were kept when their claim was deleted, because of reclaimPolicy Retain, because they are older
than the claim, or because its finalizer was removed by force and they may hold data. Also lists those of phase Bound whose
spec.claimRef was changed to a claim that does not exist. Their external resources stay, with all data and passwords, and no
other claim can bind them. For each of them, choose one:

  Give it to another claim, after setting another password (docs/guides/claims.md, "Give a team an existing resource"):
    kubectl patch KIND NAME --type json -p '[{"op":"remove","path":"/spec/claimRef"}]'
  Delete the object, and keep its external resource, which an event OrphanedExternalResource then names:
    kubectl annotate KIND NAME bowline.dev/orphan-on-delete=true && kubectl delete KIND NAME
  Delete its external resource too, with all data:
    kubectl patch KIND NAME --type merge -p '{"spec":{"reclaimPolicy":"Delete"}}'
    kubectl annotate KIND NAME bowline.dev/protect=false && kubectl delete KIND NAME

The exit code is 0 whether or not there are any.`,
		Example: `  bowline orphans list
  bowline orphans list -o json
  bowline orphans list --kubeconfig ~/.kube/config`,
		Args: command.NoArgs,
	}
	listManaged(list, std, folder, &datadir.Access{}, open, describeOrphans, nil, printOrphans)
	cmd.AddCommand(list)
	return cmd
}

// describeOrphans describes what deleted claims left, and what is bound to a claim that does not exist.
func describeOrphans(ctx context.Context, cluster *inspect.Cluster) (description[orphan], error) {
	exists := map[corev1.ObjectReference]bool{}
	err := cluster.EachOf(ctx, inspect.RoleClaim, func(kind inspect.Kind, o *unstructured.Unstructured) {
		exists[corev1.ObjectReference{Kind: kind.String(), Namespace: o.GetNamespace(), Name: o.GetName()}] = true
	})
	return func(kind inspect.Kind, o *unstructured.Unstructured) (orphan, bool) {
		found := orphanOf(kind, o)
		ref, named := inspect.Reference(o, "spec", "claimRef")
		of := ref.GroupVersionKind().GroupKind()
		claim := corev1.ObjectReference{Kind: strings.ToLower(of.String()), Namespace: ref.Namespace, Name: ref.Name}
		lost := found.Phase == xpv1.BindingPhaseBound && named && !exists[claim] &&
			cluster.Follow(ctx, ref, "").Presence == inspect.Missing // it was not created since
		return found, lost || found.Phase == xpv1.BindingPhaseReleased
	}, err
}

func orphanOf(kind inspect.Kind, o *unstructured.Unstructured) orphan {
	claim, _ := inspect.Reference(o, "spec", "claimRef")
	class, _ := inspect.Reference(o, "spec", "classRef")
	return orphan{
		Kind: kind.String(), Name: o.GetName(), ExternalName: meta.GetExternalName(o),
		Phase: xpv1.BindingPhase(inspect.Text(o, "status", "bindingPhase")),
		Claim: inspect.Path(claim.Namespace, claim.Name), ClaimKind: claim.Kind, Class: class.Name, Deleted: meta.WasDeleted(o),
	}
}

func printOrphans(w io.Writer, orphans []orphan) error {
	if len(orphans) == 0 {
		_, err := fmt.Fprintln(w, "No claim that was deleted left a managed resource.")
		return err
	}
	rows := [][]any{{"KIND", "NAME", "PHASE", "CLAIM", "CLASS", "EXTERNAL NAME"}}
	rest, kept := "Their external resources", 0
	for _, o := range orphans {
		phase := o.Phase
		if o.Deleted {
			phase, rest = "Deleting", "The external resources of the others"
		} else {
			kept++
		}
		rows = append(rows, []any{o.Kind, o.Name, phase, o.Claim, o.Class, o.ExternalName})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	if kept == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s exist, with all data. What to do: bowline orphans list --help\n", rest)
	return err
}
