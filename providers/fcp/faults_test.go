// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// faults replaces the faults of the cloud.
func (w *world) faults(t *testing.T, rules ...sdk.FaultRule) {
	t.Helper()
	if err := w.admin.SetFaults(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
}

// The cloud creates what it is asked for and does not answer, and then answers and creates nothing.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.network("first")
	w.Create(t, first)
	w.Settled(t, first)
	s := w.subnet("first", meta.GetExternalName(first), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	creates := &sdk.FaultMatch{Method: http.MethodPost}
	only := func(t *testing.T, mg resource.Managed) {
		t.Helper()
		found, err := w.networks.List(t.Context(), map[string]string{meta.ExternalLabelUID: string(mg.GetUID())})
		if err != nil || len(found) != 1 || found[0].ID != meta.GetExternalName(mg) {
			t.Errorf("networks %+v, %v; external name %q", found, err, meta.GetExternalName(mg))
		}
	}
	t.Run("a network whose answer is lost is found (N5)", func(t *testing.T) {
		w.faults(t, sdk.FaultRule{DropRate: 1, Match: creates})
		n := w.network("network")
		w.Create(t, n)
		w.Settled(t, n)
		only(t, n)
	})
	t.Run("the creation of a node group is repeated until its answer is recorded (N22)", func(t *testing.T) {
		g := w.nodeGroup("workers", meta.GetExternalName(s))
		w.Create(t, g)
		w.Eventually(t, "the cloud has the node group", func(ctx context.Context) error {
			_, err := w.groups.Get(ctx, "workers")
			return err
		})
		w.faults(t)
		w.Settled(t, g)
		if meta.ExternalCreateIncomplete(g) {
			t.Error("the answer to the repeated creation was not recorded")
		}
	})
	t.Run("nothing is created again before its absence is certain (N5 N26)", func(t *testing.T) {
		w.faults(t, sdk.FaultRule{ErrorRate: 1, ErrorStatus: http.StatusInternalServerError, Match: creates})
		n := w.network("failing")
		w.Create(t, n)
		w.reports(t, n, "cannot create network")
		if meta.GetExternalName(n) != "" || !meta.ExternalCreateIncomplete(n) {
			t.Errorf("the creation counts as failed: %v", n.Annotations)
		}
		w.faults(t)
		w.Settled(t, n)
		only(t, n)
	})
}

// The cloud takes long. A call may take longer than most vendors' longest ones, and a pass three calls: both at once would take minutes.
func TestSlowVendor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule    sdk.FaultRule
		options []managed.ReconcilerOption
	}{
		"a create of twenty seconds (R47)":            {rule: sdk.FaultRule{Latency: "20s", Match: &sdk.FaultMatch{Method: http.MethodPost}}},
		"each call, of a third of a deadline's (R47)": {sdk.FaultRule{Latency: "4s"}, []managed.ReconcilerOption{managed.WithTimeout(12 * time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.options...)
			network, database := w.network("slow"), w.database("slow")
			w.faults(t, tc.rule)
			w.Create(t, network)
			w.Create(t, database)
			t.Cleanup(func() { // runs first, so that the deletions are fast
				if err := w.admin.SetFaults(context.Background()); err != nil {
					t.Error(err)
				}
			})
			for _, mg := range []resource.Managed{network, database} {
				settled := testkit.Settled(w.Client, mg)
				testkit.Within(t, 4*time.Minute, fmt.Sprintf("%T is Ready", mg), func() error { return settled(t.Context()) })
			}
		})
	}
}

// Objects that refer to each other are created in the wrong order and deleted at the same time. Only watches reconcile them.
func TestReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t, managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
	g := w.nodeGroup("workers")
	g.Spec.ForProvider.SubnetIDRefs = []xpv1.Reference{{Name: "part"}}
	w.Create(t, g)
	w.reports(t, g, `spec.forProvider.subnetIds: Subnet "part"`)
	s := w.subnet("part", "", "10.0.1.0/24")
	s.Spec.ForProvider.NetworkIDSelector = &xpv1.Selector{MatchLabels: map[string]string{"app": "shop"}}
	w.Create(t, s)
	w.reports(t, s, "app=shop")
	w.reports(t, g, "has no external name yet")
	n := w.network("shop")
	n.Labels = map[string]string{"app": "shop"}
	before, err := w.admin.Stats(t.Context())
	w.Create(t, n)
	t.Run("references are resolved before calls and in any order (R158 R161 R162 R165 R166 R170)", func(t *testing.T) {
		if err != nil || before.Count("", "", "") > 0 {
			t.Errorf("the cloud was called before: %+v, %v", before, err)
		}
		w.Settled(t, n, s, g)
		have, err := w.groups.Get(t.Context(), "workers")
		if err != nil {
			t.Fatal(err)
		}
		network, subnets := meta.GetExternalName(n), []string{meta.GetExternalName(s)}
		want := []any{&network, &xpv1.Reference{Name: "shop"}, subnets, subnets}
		p := s.Spec.ForProvider
		if diff := cmp.Diff(want, []any{p.NetworkID, p.NetworkIDRef, g.Spec.ForProvider.SubnetIDs, have.SubnetIDs}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("every change is reconciled, also of labels and annotations (T42)", func(t *testing.T) {
		for round := range 2 { // reads that follow the creation may count in the first round
			for what, change := range map[string]func(){
				"a label":       func() { n.Labels["round"] = fmt.Sprint(round) },
				"an annotation": func() { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "example.org/round", fmt.Sprint(round)) },
			} {
				if err := w.admin.ResetStats(t.Context()); err != nil {
					t.Fatal(err)
				}
				before := n.DeepCopy()
				change()
				if err := w.Client.Patch(t.Context(), n, client.MergeFrom(before)); err != nil {
					t.Fatal(err)
				}
				w.Eventually(t, "the network is observed after a change of "+what, func(ctx context.Context) error {
					stats, err := w.admin.Stats(ctx)
					if err == nil && stats.Count(http.MethodGet, "networks", sdk.OutcomeOK) == 0 {
						err = errors.New("it is not")
					}
					return err
				})
			}
		}
	})
	t.Run("objects are deleted before those that they refer to (N32)", func(t *testing.T) {
		w.faults(t, sdk.FaultRule{Latency: "300ms", Match: &sdk.FaultMatch{Method: http.MethodDelete, Service: "node-groups"}})
		all := []resource.Managed{g, s, n}
		for _, o := range all {
			if err := w.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		w.Eventually(t, "all are deleted", func(ctx context.Context) error {
			for _, o := range all {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
					return fmt.Errorf("%s still exists: %v, %v", o.GetName(), err, o.GetCondition(xpv1.TypeSynced))
				}
			}
			return nil
		})
		if stats, err := w.admin.Stats(t.Context()); err != nil || stats.Count(http.MethodDelete, "", sdk.OutcomeRefused) > 0 {
			t.Errorf("deleted in the wrong order: %+v, %v", stats, err)
		}
	})
}

// A database whose server hangs, or refuses the connections that its Secret describes, is not Ready until that ends.
func TestUnusableServerIsNotReady_R183(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.databaseServer("silent")
	db := s.object
	w.start(t, s)
	await := func(status corev1.ConditionStatus, reason xpv1.ConditionReason, message string) {
		t.Helper()
		w.Eventually(t, "Ready is "+string(status), func(ctx context.Context) error {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(db), db)
			ready := db.GetCondition(xpv1.TypeReady)
			if err == nil && (ready.Status != status || ready.Reason != reason || !strings.Contains(ready.Message, message)) {
				err = fmt.Errorf("%s %s: %s", ready.Status, ready.Reason, ready.Message)
			}
			return err
		})
	}
	await(corev1.ConditionTrue, xpv1.ReasonAvailable, "")
	files, err := filepath.Glob(filepath.Join(w.cloudDir, "instances", "*", "data", "postmaster.pid"))
	if err != nil || len(files) != 1 {
		t.Fatalf("servers %v, %v", files, err)
	}
	file, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // only read
	var pid int
	if _, err := fmt.Fscan(file, &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	await(corev1.ConditionFalse, xpv1.ReasonUnavailable, "does not accept connections")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(corev1.ConditionTrue, xpv1.ReasonAvailable, "")

	elsewhere := w.serves(t, s, "")
	elsewhere["database"] = []byte("template1")
	conn, err := connectSQL(t.Context(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "alter database postgres rename to moved"); err != nil {
		t.Fatal(err)
	}
	await(corev1.ConditionFalse, xpv1.ReasonUnavailable, `"postgres" does not exist; in another database, run: alter database`)
	if _, err := conn.Exec(t.Context(), "alter database moved rename to postgres"); err != nil {
		t.Fatal(err)
	}
	await(corev1.ConditionTrue, xpv1.ReasonAvailable, "")
}
