// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

// A leak is an object whose external resource may exist under an unknown name, or whose state or one-time connection details are lost. The keys
// of its JSON are an interface.
type leak struct {
	Kind      string            `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Problem   failure.Reason    `json:"problem"` // CreateInterrupted, ExternalSystemChanged, ConnectionDetailsLost, ExternalNameLost, StateLost, OwnershipUnproven or SecondExternalResource
	Since     time.Time         `json:"since"`   // start of the problem; of the create, if that was interrupted
	Deleted   bool              `json:"deleted"` // the object is being deleted
	LookFor   map[string]string `json:"lookFor"` // labels of the external resource, in systems that have labels; empty for Terraform kinds, see --help
	Message   string            `json:"message"` // of condition Synced: what to do
}

// New makes the command leaks.
func New(providers []provider.Provider, std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	var access datadir.Access
	cmd := &cobra.Command{
		Use:   "leaks",
		Short: "List objects that need manual intervention after an interrupted create or a loss",
		Long: `Lists managed resources whose create was interrupted before its result was recorded, or that lost the result. What to do depends on the problem.

CreateInterrupted: the kind cannot search for what was created, or found several. The external resource may or may not exist.

  1. Look in the external system for a resource that was created at about that time, or has these labels. Those of Terraform kinds have only
     label bowline-uid with the UID of the object, and only if their type has ownership in spec.typeSettings of the TerraformProvider. Without it,
     look for the name or other settings of the object.
  2. If there is one, delete it there, or keep it: kubectl annotate KIND NAME crossplane.io/external-name=ITS-NAME
     Of several, keep one in this way, and delete the others there.
  3. Then resume reconciliation: kubectl annotate KIND NAME crossplane.io/external-create-pending-

ExternalSystemChanged: the ProviderConfig leads to another system than the one in which the interrupted create began, which condition Synced names.

  1. Point the ProviderConfig, or its Secret, back: the kind may be able to search then.
  2. Or do as for CreateInterrupted in the system of the create, and delete there what it made.

SecondExternalResource (only with --external): the object works with the external resource that the message names, and others have its label.

  1. Look in the external system what the others are, and whether somebody put data there.
  2. Delete them there.

With --external, it makes a call for each object of the kinds that can be searched, with the credentials of the ProviderConfigs, which needs the
right to read all Secrets. External resources whose object is gone are not found: see docs/guides/operations.md, "Backup and restore".

ConnectionDetailsLost: the connection Secret lacks what the external system returned only once, such as a password.

  1. If the kind can replace it: bowline rotate KIND/NAME
     Otherwise reset it in the external system, and add it to the Secret that the message names. Or, if the resource holds nothing yet, delete
     the object and create it again.
  2. To do without it: kubectl annotate KIND NAME bowline.dev/created-connection-keys-

ExternalNameLost: the external name was removed from the object, for example by kubectl replace, and the kind cannot search for it.

  1. Look in the external system for the resource, and set its name: kubectl annotate KIND NAME crossplane.io/external-name=ITS-NAME

StateLost: the Secret with the state of a Terraform kind is gone, damaged, or from an older backup. Restore it, or do without what only it had,
such as a generated password: the message says how.

OwnershipUnproven: nothing proves that the external resource belongs to the object, for example because its label was removed, and its
ProviderConfig is shared with other namespaces.

  1. Check in the external system whose it is, and do what the message says.

To finish the deletion of an object without deleting its external resource:
kubectl annotate KIND NAME bowline.dev/orphan-on-delete=true

The exit code is 0 whether or not there are any, and 1 if an external system could not be searched.`,
		Example: `  bowline leaks
  bowline leaks --external
  bowline leaks -o json
  bowline leaks --kubeconfig ~/.kube/config`,
		Args: command.NoArgs,
	}
	external := cmd.Flags().Bool("external", false, "also search the external systems for a second resource of an object")
	var searching *search
	prepare := func(ctx context.Context, _ *inspect.Cluster) (_ description[leak], err error) {
		if *external {
			searching, err = newSearch(ctx, folder, access, std.Err, providers)
		}
		return func(kind inspect.Kind, o *unstructured.Unstructured) (leak, bool) {
			l, ok := leakOf(kind, o)
			if searching != nil && l.Problem != failure.CreateInterrupted {
				searching.add(kind, o)
			}
			return l, ok
		}, err
	}
	listManaged(cmd, std, folder, &access, open, prepare, func(ctx context.Context) ([]leak, error) {
		if searching == nil {
			return nil, nil
		}
		return searching.run(ctx)
	}, printLeaks)
	return cmd
}

// leakOf returns false for an object that needs no manual intervention.
func leakOf(_ inspect.Kind, o *unstructured.Unstructured) (l leak, ok bool) {
	status := inspect.Conditions(o)
	problem := xpv1.FailureOf(&status).Reason
	ofCreation := problem == failure.CreateInterrupted || problem == failure.ExternalSystemChanged // without an incomplete one nothing leaked
	isLost := failure.IsLeak(problem) || problem == failure.StateLost
	if ofCreation && !meta.ExternalCreateIncomplete(o) || !ofCreation && !isLost {
		return leak{}, false
	}
	kind, labels := o.GroupVersionKind().GroupKind(), map[string]string{}
	if !kinds.IsGroup(kind.Group) { // which types have ownership in spec.typeSettings is not known here
		labels = externalLabels(o)
	}
	since := status.GetCondition(xpv1.TypeStalled).LastTransitionTime.UTC()
	if ofCreation {
		since = meta.GetExternalCreatePending(o)
	}
	return leak{
		Kind: strings.ToLower(kind.String()), Namespace: o.GetNamespace(), Name: o.GetName(), Problem: problem,
		Message: status.GetCondition(xpv1.TypeSynced).Message,
		Since:   since, Deleted: meta.WasDeleted(o), LookFor: labels,
	}, true
}

func externalLabels(o *unstructured.Unstructured) map[string]string {
	return meta.GetExternalLabels(o, o.GroupVersionKind().GroupKind(), inspect.Text(o, "spec", "providerConfigRef", "name"))
}

func printLeaks(w io.Writer, leaks []leak) error {
	if len(leaks) == 0 {
		_, err := fmt.Fprintln(w, "No object needs manual intervention after an interrupted create or a loss.")
		return err
	}
	rows := [][]any{{"KIND", "NAMESPACE", "NAME", "PROBLEM", "SINCE", "LOOK FOR"}}
	for _, l := range leaks {
		lookFor := "its settings"
		if uid := l.LookFor[meta.ExternalLabelUID]; uid != "" {
			lookFor = meta.ExternalLabelUID + "=" + uid
		} else if l.Problem == failure.StateLost {
			lookFor = "a backup"
		}
		rows = append(rows, []any{l.Kind, l.Namespace, l.Name, l.Problem, l.Since.Local().Format(time.DateTime), lookFor})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	for _, l := range leaks {
		if _, err := fmt.Fprintf(w, "\n%s: %s\n", l.Name, inspect.Plain(l.Message)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\nWhat to do: bowline leaks --help")
	return err
}
