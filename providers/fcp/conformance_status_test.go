// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
)

// What objects show of the cloud, and where it comes from.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.network("net")
	w.Create(t, n)
	w.Settled(t, n)
	s := w.subnet("sub", meta.GetExternalName(n), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	g := w.nodeGroup("group", meta.GetExternalName(s))
	w.Create(t, g)
	w.Settled(t, g)
	w.Change(t, g, func() { g.Spec.ForProvider.InstanceType = new("large") })
	w.Eventually(t, "the upgrade is shown", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		if u := g.Status.AtProvider.Upgrade; u == nil || u.LastUpgradeAt.IsZero() {
			return fmt.Errorf("atProvider.upgrade is %+v", u)
		}
		return nil
	})
	t.Run("lost status of a network (P22)", func(t *testing.T) { loses(t, w, n, &n.Status.AtProvider) })
	t.Run("lost status of a subnet (P22)", func(t *testing.T) { loses(t, w, s, &s.Status.AtProvider) })
	t.Run("lost status of a node group (P22)", func(t *testing.T) { loses(t, w, g, &g.Status.AtProvider) })
	t.Run("the cloud's own fields (K10, P32)", func(t *testing.T) { showsWhatOnlyTheCloudSays(t, w, g) })
}

// loses takes the whole status from an object and wants the same observation back.
func loses[O any](t *testing.T, w *world, mg resource.Managed, observation *O) {
	before := *observation
	if err := w.Client.Status().Patch(t.Context(), mg, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))); err != nil {
		t.Fatal(err)
	}
	var nothing O
	if diff := cmp.Diff(nothing, *observation); diff != "" {
		t.Fatalf("the status is still there -want +got:\n%s", diff)
	}
	w.Eventually(t, "the observation is back", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if diff := cmp.Diff(before, *observation); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	w.Settled(t, mg)
}

func showsWhatOnlyTheCloudSays(t *testing.T, w *world, g *computev1alpha3.NodeGroup) {
	have, err := w.groups.Get(t.Context(), meta.GetExternalName(g))
	if err != nil {
		t.Fatal(err)
	}
	o := g.Status.AtProvider
	if o.Name != have.Name || !o.CreatedAt.Time.Equal(have.CreatedAt) {
		t.Errorf("name %q and creation %s, want %q and %s (K10)", o.Name, o.CreatedAt, have.Name, have.CreatedAt)
	}
	if u := have.Upgrade; o.Upgrade.Version != u.Version || !o.Upgrade.LastUpgradeAt.Time.Equal(*u.LastUpgradeAt) {
		t.Errorf("upgrade %+v, want %+v (P32)", o.Upgrade, u)
	}
}

// The two structs inside a node group: one with settings and reports, one with a single setting.
func TestStructsOfNodeGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.network("net")
	w.Create(t, n)
	w.Settled(t, n)
	s := w.subnet("sub", meta.GetExternalName(n), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	g := w.nodeGroup("group", meta.GetExternalName(s))
	g.Spec.InitProvider.Upgrade = &computev1alpha3.UpgradeSpec{MaxUnavailable: new(2)}
	w.Create(t, g)
	w.Settled(t, g)
	t.Run("created with both, filled with the cloud's choices (R138, R146, R150, P33)", func(t *testing.T) {
		w.upgrades(t, g, nodegroup.DefaultStrategy, 2, nodegroup.DefaultRepairEnabled)
		if diff := cmp.Diff(&computev1alpha3.UpgradeSpec{Strategy: new(nodegroup.DefaultStrategy)}, g.Spec.ForProvider.Upgrade); diff != "" {
			t.Errorf("upgrade -want +got:\n%s", diff)
		}
		if diff := cmp.Diff(&computev1alpha3.Repair{Enabled: nodegroup.DefaultRepairEnabled}, g.Spec.ForProvider.Repair); diff != "" {
			t.Errorf("repair -want +got:\n%s", diff)
		}
	})
	t.Run("changes arrive (R39, P33, P34)", func(t *testing.T) {
		w.Change(t, g, func() {
			g.Spec.ForProvider.Upgrade = &computev1alpha3.UpgradeSpec{Strategy: new(nodegroup.StrategyRecreate), MaxUnavailable: new(3)}
			g.Spec.ForProvider.Repair.Enabled = false
		})
		w.upgrades(t, g, nodegroup.StrategyRecreate, 3, false)
	})
	t.Run("what others change is changed back (R40)", func(t *testing.T) {
		in := nodegroup.UpdateNodeGroupInput{
			Upgrade: &nodegroup.UpgradeInput{Strategy: new(nodegroup.StrategyRolling)}, Repair: &nodegroup.RepairInput{Enabled: new(true)},
		}
		if _, err := w.groups.Update(t.Context(), meta.GetExternalName(g), in); err != nil {
			t.Fatal(err)
		}
		w.Eventually(t, "the group is as declared again", func(ctx context.Context) error {
			have, err := w.groups.Get(ctx, meta.GetExternalName(g))
			if err == nil && (have.Upgrade.Strategy != nodegroup.StrategyRecreate || have.Repair.Enabled) {
				err = fmt.Errorf("upgrade %+v, repair %+v", have.Upgrade, have.Repair)
			}
			return err
		})
	})
}

// upgrades checks what the cloud has.
func (w *world) upgrades(t *testing.T, g *computev1alpha3.NodeGroup, strategy string, maxUnavailable int, repaired bool) {
	t.Helper()
	have, err := w.groups.Get(t.Context(), meta.GetExternalName(g))
	if err != nil {
		t.Fatal(err)
	}
	want := &nodegroup.Upgrade{Strategy: strategy, MaxUnavailable: maxUnavailable, Version: nodegroup.Version}
	if diff := cmp.Diff(want, have.Upgrade); diff != "" || have.Repair.Enabled != repaired {
		t.Errorf("repairs: %t; upgrade -want +got:\n%s", have.Repair.Enabled, diff)
	}
}
