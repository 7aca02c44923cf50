// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resume is the command resume-deletions, which ends the pause of a mass deletion.
package resume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	managed "github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A pausedConfig is a ProviderConfig whose deletions are paused, or were resumed a moment ago.
type pausedConfig struct {
	kind    inspect.Kind
	object  *unstructured.Unstructured
	pause   clients.Pause
	waiting int       // objects whose deletion waits
	last    time.Time // when the last of them was deleted, or the pause began
}

func (p *pausedConfig) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.object.GetNamespace(), Name: p.object.GetName()}
}

func (p *pausedConfig) String() string { return clients.Argument(p.kind.String(), p.key()) }

// New returns the command.
func New(std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	var namespace string
	var access datadir.Access
	var all bool
	cmd := &cobra.Command{
		Use:   "resume-deletions [[KIND/]PROVIDERCONFIG]",
		Short: "Resume deletions after a mass deletion was paused",
		Long: `If more than 50 external resources of one ProviderConfig are to be deleted within a minute, Bowline deletes no more of them:
their objects wait, with reason DeletionsPaused, and the ProviderConfig has condition DeletionsPaused. Check why they are deleted. To
keep an external resource whose object is being deleted:
kubectl annotate KIND NAME bowline.dev/orphan-on-delete=true

Where several namespaces share a ProviderConfig, this is the limit of each, whose deletions alone are paused; those of all are if 100
are to be deleted.

This command resumes all deletions that were requested so far, or those of a namespace. Further mass deletions are paused again.
Without an argument it resumes the only ProviderConfig that is paused, or lists those that are. To change the limit of a
ProviderConfig, set spec.limits.deletionsPerMinute; 0 is no limit.`,
		Example: `  bowline resume-deletions
  bowline resume-deletions default
  bowline resume-deletions default --namespace team-a
  bowline resume-deletions providerconfig.fcp.crossplane.io/default
  bowline resume-deletions --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return command.Usagef(cmd, "name one ProviderConfig, or use --all")
			}
			return nil
		},
	}
	access.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "resume only the deletions of this namespace (default: of all)")
	cmd.Flags().BoolVar(&all, "all", false, "resume the deletions of all ProviderConfigs")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cluster, _, err := open(folder, access)
		if err != nil {
			return err
		}
		paused, err := findPaused(cmd.Context(), cluster, namespace)
		if err != nil {
			return fmt.Errorf("searching for paused deletions: %w", err)
		}
		chosen, err := choosePaused(paused, strings.Join(args, ""), namespace, all)
		if err != nil {
			return err
		}
		return resumeAll(cmd.Context(), cluster, chosen, namespace, std.Out)
	}
	return cmd
}

// findPaused returns the ProviderConfigs whose deletions are paused, and counts the objects that wait, those of the namespace if one is given.
func findPaused(ctx context.Context, cluster *inspect.Cluster, namespace string) (paused []*pausedConfig, err error) {
	err = cluster.EachOf(ctx, inspect.RoleProviderConfig, func(kind inspect.Kind, o *unstructured.Unstructured) {
		copied, status := o.DeepCopy(), inspect.Conditions(o)
		if pause := clients.PauseOf(copied); pause.Any() {
			last := status.GetCondition(xpv1.TypeDeletionsPaused).LastTransitionTime.Time
			paused = append(paused, &pausedConfig{kind: kind, object: copied, pause: pause, last: last})
		}
	})
	if err != nil {
		return nil, err
	}
	return paused, cluster.EachOf(ctx, inspect.RoleManaged, func(kind inspect.Kind, o *unstructured.Unstructured) {
		countWaiting(cluster, kind, o, namespace, paused)
	})
}

// countWaiting counts an object for its ProviderConfig if its deletion waits.
func countWaiting(cluster *inspect.Cluster, of inspect.Kind, o *unstructured.Unstructured, namespace string, paused []*pausedConfig) {
	status := inspect.Conditions(o)
	if xpv1.FailureOf(&status).Reason != failure.DeletionsPaused || !meta.WasDeleted(o) {
		return
	}
	kind, _ := cluster.ProviderConfigKind(of.GroupKind(), inspect.Text(o, "spec", "providerConfigRef", "kind"))
	for _, p := range paused {
		key := types.NamespacedName{Name: inspect.Text(o, "spec", "providerConfigRef", "name")}
		if kind.Namespaced {
			key.Namespace = o.GetNamespace()
		}
		elsewhere := !kind.Namespaced && namespace != "" && namespace != resource.NamespaceOf(managed.Wrap(o))
		if p.kind.GroupKind() != kind.GroupKind() || p.key() != key || elsewhere {
			continue
		}
		p.waiting++
		if at := o.GetDeletionTimestamp().Time; at.After(p.last) {
			p.last = at
		}
	}
}

// choosePaused returns what a person named, all if asked, or the only one.
func choosePaused(paused []*pausedConfig, word, namespace string, all bool) (chosen []*pausedConfig, err error) {
	for _, p := range paused {
		name := p.object.GetName()
		named := word == "" || word == name || strings.EqualFold(word, p.kind.String()+"/"+name) || strings.EqualFold(word, p.kind.Kind+"/"+name)
		concerned := namespace == "" || namespace == p.object.GetNamespace() || p.object.GetNamespace() == "" && p.pause.Of(namespace)
		if named && concerned {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 && word != "" {
		return nil, fmt.Errorf("deletions of ProviderConfig %s are not paused, or there is none; %s", word, listPaused(paused))
	}
	if len(chosen) == 0 && len(paused) > 0 {
		return nil, fmt.Errorf("no deletions are paused in namespace %s; elsewhere, %s", namespace, listPaused(paused))
	}
	if len(chosen) > 1 && !all {
		return nil, errors.New("deletions of several ProviderConfigs are paused: name one, or use --all" + listed(chosen))
	}
	return chosen, nil
}

// listPaused names those that are paused.
func listPaused(configs []*pausedConfig) string {
	if len(configs) == 0 {
		return "no ProviderConfig is paused"
	}
	return "these ProviderConfigs are paused:" + listed(configs)
}

// listed names ProviderConfigs, one in each line, and how many objects wait.
func listed(configs []*pausedConfig) string {
	text := ""
	for _, p := range configs {
		text += fmt.Sprintf("\n  %s", p)
		if p.waiting > 0 { // those of other namespaces are not counted
			text += fmt.Sprintf("  (%d waiting)", p.waiting)
		}
	}
	return text
}

// resumeAll resumes deletions. All that was deleted until then is permitted, also where the clock of this machine is behind.
func resumeAll(ctx context.Context, cluster *inspect.Cluster, chosen []*pausedConfig, namespace string, to io.Writer) error {
	if len(chosen) == 0 {
		_, err := fmt.Fprintln(to, "No deletions are paused.")
		return err
	}
	for _, p := range chosen {
		at, only, where := time.Now(), "", ""
		if p.last.After(at) {
			at = p.last
		}
		if namespace != "" && p.object.GetNamespace() == "" {
			only, where = namespace, " in namespace "+namespace
		}
		if err := cluster.Patch(ctx, p.kind, p.object, func(o *unstructured.Unstructured) { meta.SetDeletionsResumed(o, only, at) }); err != nil {
			return fmt.Errorf("resuming deletions of %s: %w", p, err)
		}
		if _, err := fmt.Fprintf(to, "Resumed deletions of %s%s: %d waited.\n", p, where, p.waiting); err != nil {
			return err
		}
	}
	return nil
}
