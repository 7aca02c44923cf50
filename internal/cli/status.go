// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/clients"
)

const (
	countTimeout  = 20 * time.Second
	mostUnhealthy = 20 // objects in the table
	mostMessage   = 100
)

// status is the output of `bowline status -o json`; its keys are an interface.
type status struct {
	Running   bool        `json:"running"`
	PID       int         `json:"pid"`              // 0 when down
	Since     *time.Time  `json:"since"`            // when it became ready; null when down or still starting
	Address   string      `json:"address"`          // host:port of the API server; empty when down or still starting
	Cloud     string      `json:"cloud"`            // URL of the local cloud; empty if none runs
	Metrics   string      `json:"metrics"`          // URL of the metrics; empty if none are served
	Version   string      `json:"version"`          // of the server; empty when down or still starting
	DiskFull  bool        `json:"diskFull"`         // the disk of the data folder has so little room that new objects are refused
	Stopped   *time.Time  `json:"stopped"`          // when controllers last ran that do not run now; null if all do, or if none ever did
	Stops     []string    `json:"stoppedProviders"` // whose controllers these are; null if all run
	Unhealthy []unhealthy `json:"unhealthy"`        // paused deletions first, then in the order of objects
	Released  int         `json:"released"`         // managed resources that stayed when their claims were deleted, with their data
	Objects   []objects   `json:"objects"`          // every kind of claims, of classes, of managed resources and of configurations, in this order

	at   string // flags of the commands that are suggested
	stop string // what Stopped and Stops tell
}

type objects struct {
	Role   inspect.Role `json:"role"`
	Kind   string       `json:"kind"` // with the group after a dot when two groups have a kind of that name
	Total  int          `json:"total"`
	Ready  int          `json:"ready"`  // with condition Ready True
	Synced int          `json:"synced"` // with condition Synced True, which configurations and classes lack
}

// unhealthy is an object with condition Ready or Synced not True, a configuration or class with condition Ready False, or a
// configuration whose deletions are paused.
type unhealthy struct {
	Kind      string `json:"kind"` // as kubectl takes it: <kind>.<group>
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

func newStatusCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var access datadir.Access
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether a server runs, its addresses, and what is unhealthy",
		Long: `Shows whether a server runs and where, which claims, classes, managed resources and provider configurations are not ready and
why, and how many of each kind there are. In the table, kinds without objects are left out.

With --kubeconfig, --context or $KUBECONFIG it shows the objects of another API server, and what is known of its controllers.

The exit code is 1 if no server runs, or if the server does not respond. It is 0 if objects are unhealthy.`,
		Example: `  bowline status
  bowline status -o json | jq '.unhealthy'`,
		Args: command.NoArgs,
	}
	access.AddFlags(cmd.Flags())
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dataDir, err := folder.Client()
		elsewhere := access != (datadir.Access{}) || folder.FromEnvironment() != ""
		if err != nil && !elsewhere {
			return err
		}
		s, problem := newStatus(), error(nil)
		if elsewhere {
			if err := s.readCluster(cmd.Context(), folder, access); err != nil {
				return err
			}
		} else {
			s.at, problem = datadir.Argument(dataDir), s.readServer(cmd.Context(), dataDir)
		}
		err = output.Print(std.Out, s, func(w io.Writer, _ string) error { return s.print(w, dataDir) })
		switch {
		case err != nil:
			return fmt.Errorf("writing status: %w", err)
		case problem != nil:
			return problem
		case !s.Running:
			return &exitCodeError{code: exitError}
		}
		return nil
	}
	return cmd
}

func newStatus() *status { return &status{Unhealthy: []unhealthy{}, Objects: []objects{}} }

// readCluster reads what can be seen of an API server that is not of a data folder.
func (s *status) readCluster(ctx context.Context, folder *datadir.Flag, access datadir.Access) error {
	cluster, _, err := openCluster(folder, access)
	if err != nil {
		return err
	}
	s.Running, s.Address, s.at = true, cluster.Address, access.String()
	return s.readObjects(ctx, cluster)
}

// readServer reads a part of it, besides an error.
func (s *status) readServer(ctx context.Context, dataDir string) error {
	pid, ok := controlplane.Holder(dataDir)
	if !ok {
		return nil
	}
	s.Running, s.PID = true, pid
	state, ok := datadir.ReadRunFile(dataDir, pid)
	if !ok {
		return nil // starting or stopping
	}
	s.Since, s.Address, s.Cloud, s.Metrics, s.Version = &state.Since, state.Address, state.Cloud, state.Metrics, state.Version
	_, s.DiskFull, _ = controlplane.LowSpace(dataDir) // of a folder that was just read
	cluster, _, err := openCluster(&datadir.Flag{}, datadir.Access{File: controlplane.KubeconfigPath(dataDir)})
	if err == nil {
		err = s.readObjects(ctx, cluster)
	}
	if err != nil {
		return fmt.Errorf("reading objects: %w", err)
	}
	return nil
}

func (s *status) readObjects(ctx context.Context, cluster *inspect.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	if stop, found := cluster.Stopped(ctx); found {
		s.Stopped, s.Stops, s.stop = &stop.Since, stop.Providers, stop.String()
	}
	for _, role := range []inspect.Role{inspect.RoleClaim, inspect.RoleClass, inspect.RoleManaged, inspect.RoleProviderConfig,
		inspect.RoleProvider, inspect.RoleTarget, inspect.RoleWorkload} {
		kinds := cluster.OfRole(role)
		slices.SortFunc(kinds, func(a, b inspect.Kind) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
		})
		for _, kind := range kinds {
			n := objects{Role: role, Kind: displayName(kind, kinds)}
			err := cluster.Each(ctx, kind, func(o *unstructured.Unstructured) { s.add(&n, kind, o) })
			if err != nil {
				return err
			}
			s.Objects = append(s.Objects, n)
		}
	}
	return nil
}

// add counts an object. Providers, configurations and classes have no condition Synced, and may have none at all.
func (s *status) add(to *objects, kind inspect.Kind, o *unstructured.Unstructured) {
	conditions := inspect.Conditions(o)
	ready, synced := conditions.GetCondition(xpv1.TypeReady), conditions.GetCondition(xpv1.TypeSynced)
	to.Total++
	if ready.Status == corev1.ConditionTrue {
		to.Ready++
	}
	if synced.Status == corev1.ConditionTrue {
		to.Synced++
	}
	if to.Role == inspect.RoleManaged && inspect.Text(o, "status", "bindingPhase") == string(xpv1.BindingPhaseReleased) {
		s.Released++
	}
	if paused := conditions.GetCondition(xpv1.TypeDeletionsPaused); to.Role == inspect.RoleProviderConfig && clients.PauseOf(o).Any() {
		s.Unhealthy = slices.Insert(s.Unhealthy, 0, unhealthy{
			Kind: kind.String(), Namespace: o.GetNamespace(), Name: o.GetName(), Reason: string(paused.Reason), Message: paused.Message,
		})
	}
	if !to.hasSynced() && ready.Status != corev1.ConditionFalse || ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue {
		return
	}
	cause := ready
	if synced.Status == corev1.ConditionFalse {
		cause = synced
	}
	failed := xpv1.FailureOf(&conditions)
	s.Unhealthy = append(s.Unhealthy, unhealthy{
		Kind: kind.String(), Namespace: o.GetNamespace(), Name: o.GetName(),
		Reason: string(cmp.Or(failed.Reason, cause.Reason)), Message: cmp.Or(failed.Message, cause.Message),
	})
}

func (o objects) hasSynced() bool {
	return o.Role != inspect.RoleProviderConfig && o.Role != inspect.RoleClass && o.Role != inspect.RoleProvider
}

func displayName(kind inspect.Kind, all []inspect.Kind) string {
	if slices.ContainsFunc(all, func(k inspect.Kind) bool { return k.Kind == kind.Kind && k.Group != kind.Group }) {
		return kind.Kind + "." + kind.Group
	}
	return kind.Kind
}

func (s status) print(w io.Writer, dataDir string) error {
	if !s.Running {
		_, err := fmt.Fprintf(w, "Bowline is down; no server runs on %s. Start one with: bowline up --detach%s\n", dataDir, datadir.Argument(dataDir))
		return err
	}
	rows := [][]any{{"Process", s.PID}, {"Data", dataDir}}
	switch {
	case s.PID == 0:
		rows = [][]any{{"Address", s.Address}}
	case s.Since == nil:
		return command.PrintTable(w, append(rows, []any{"State", "starting"})...)
	default:
		rows = append(rows, s.server()...)
	}
	if s.DiskFull {
		free, _, _ := controlplane.LowSpace(dataDir)
		rows = append(rows, []any{"Disk", fmt.Sprintf("nearly full (%d MB free): new objects are refused until there is room", free>>20)})
	}
	if s.stop != "" {
		rows = append(rows, []any{"Controllers", s.stop})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	if err := s.printUnhealthy(w); err != nil {
		return err
	}
	if s.Released > 0 {
		fmt.Fprintf(w, "\nManaged resources whose claims are deleted, with data that is kept: %d. What to do: bowline orphans list%s\n", s.Released,
			s.at)
	}
	rows = [][]any{{"\nKIND", "TOTAL", "READY", "SYNCED"}}
	for _, o := range s.Objects {
		switch {
		case o.Total == 0:
		case !o.hasSynced():
			rows = append(rows, []any{o.Kind, o.Total, o.Ready, "-"})
		default:
			rows = append(rows, []any{o.Kind, o.Total, o.Ready, o.Synced})
		}
	}
	if len(rows) == 1 {
		_, err := fmt.Fprintln(w, "\nThere are no claims, classes, managed resources and provider configurations.")
		return err
	}
	return command.PrintTable(w, rows...)
}

// server is what the table shows of the server of a data folder.
func (s status) server() [][]any {
	rows := [][]any{{"Address", "https://" + s.Address}}
	for _, part := range [][]any{{"Cloud", s.Cloud}, {"Metrics", s.Metrics}} {
		if part[1] != "" {
			rows = append(rows, part)
		}
	}
	since := fmt.Sprintf("%s (%s)", s.Since.Local().Format(time.DateTime), time.Since(*s.Since).Round(time.Second))
	return append(rows, []any{"Version", s.Version}, []any{"Ready since", since})
}

func (s status) printUnhealthy(w io.Writer) error {
	if len(s.Unhealthy) == 0 {
		return nil
	}
	rows := [][]any{{"\nUNHEALTHY", "NAMESPACE", "REASON", "MESSAGE"}}
	for _, o := range s.Unhealthy[:min(len(s.Unhealthy), mostUnhealthy)] {
		message := []rune(inspect.Plain(o.Message))
		if len(message) > mostMessage {
			message = append(message[:mostMessage], '…')
		}
		rows = append(rows, []any{o.Kind + "/" + o.Name, o.Namespace, cmp.Or(o.Reason, "not reconciled yet"), string(message)})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	if more := len(s.Unhealthy) - mostUnhealthy; more > 0 {
		fmt.Fprintf(w, "and %d more: bowline status -o json%s\n", more, s.at)
	}
	_, err := fmt.Fprintf(w, "What to do: bowline why KIND/NAME [-n NAMESPACE]%s\n", s.at)
	return err
}
