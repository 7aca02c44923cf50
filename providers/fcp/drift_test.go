// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/providertest"
)

// drifts has every kind of every scope.
func (w *world) drifts(t *testing.T) map[string]providertest.Drift {
	n, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.1.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	cluster, namespaced := w.clusterNetwork(), w.network("drifting")
	return map[string]providertest.Drift{
		"FavouriteDBInstance": w.databaseDrift(),
		"CacheInstance":       w.cacheDrift(),
		"cluster Network":     w.networkDrift(cluster),
		"Network":             w.networkDrift(namespaced),
		"Subnet":              w.subnetDrift(n.ID),
		"NodeGroup":           w.nodeGroupDrift(s.ID),
	}
}

func (w *world) databaseDrift() providertest.Drift {
	db, instances := w.database("drifting"), database.NewClient(w.cloud)
	return providertest.Drift{
		Object:  db,
		Creates: []string{"fancinessLevel"},
		Taken:   func() any { return db.Spec.ForProvider.Version },
		Change: func(ctx context.Context) error {
			_, err := instances.Update(ctx, meta.GetExternalName(db), database.UpdateInstanceInput{FancinessLevel: new(20)})
			return err
		},
		Want: []xpv1.FieldDifference{{Path: "fancinessLevel", Desired: "10", Observed: "20"}},
		State: func(ctx context.Context) (any, error) {
			have, err := instances.Get(ctx, meta.GetExternalName(db))
			if err != nil {
				return nil, err
			}
			return have.FancinessLevel, nil
		},
		Declared: 10,
	}
}

// networkDrift has somebody change what was declared, and what was taken over.
func (w *world) networkDrift(n networkObject) providertest.Drift {
	n.Parameters().Description = new("ours")
	return providertest.Drift{
		Object:  n,
		Creates: []string{"cidrBlock", "description"},
		Taken:   func() any { return n.Parameters().MTU },
		Change: func(ctx context.Context) error {
			theirs := network.UpdateNetworkInput{Description: new("theirs"), MTU: new(1400)}
			_, err := w.networks.Update(ctx, meta.GetExternalName(n), theirs)
			return err
		},
		Want: []xpv1.FieldDifference{
			{Path: "description", Desired: `"ours"`, Observed: `"theirs"`},
			{Path: "mtu", Desired: fmt.Sprint(network.DefaultMTU), Observed: "1400"},
		},
		State: func(ctx context.Context) (any, error) {
			have, err := w.networks.Get(ctx, meta.GetExternalName(n))
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(have.Description, " ", have.MTU), nil
		},
		Declared: fmt.Sprint("ours ", network.DefaultMTU),
	}
}

// subnetDrift has somebody change a label: there is nothing else to change.
func (w *world) subnetDrift(networkID string) providertest.Drift {
	s := w.subnet("drifting", networkID, "10.1.2.0/24")
	s.Spec.ForProvider.Labels = map[string]string{"tier": "web"}
	return providertest.Drift{
		Object:  s,
		Creates: []string{"cidrBlock", "labels.tier", "networkId"},
		Taken:   func() any { return s.Spec.ForProvider.Zone },
		Change: func(ctx context.Context) error {
			have, err := w.subnets.Get(ctx, meta.GetExternalName(s))
			if err != nil {
				return err
			}
			have.Labels["tier"] = "data"
			_, err = w.subnets.Update(ctx, have.ID, subnet.UpdateSubnetInput{Labels: have.Labels})
			return err
		},
		Want: []xpv1.FieldDifference{{Path: "labels.tier", Desired: `"web"`, Observed: `"data"`}},
		State: func(ctx context.Context) (any, error) {
			have, err := w.subnets.Get(ctx, meta.GetExternalName(s))
			if err != nil {
				return nil, err
			}
			return have.Labels["tier"], nil
		},
		Declared: "web",
	}
}

func (w *world) nodeGroupDrift(subnetID string) providertest.Drift {
	g := w.nodeGroup("drifting", subnetID)
	g.Spec.InitProvider.InstanceType = new("large")
	return providertest.Drift{
		Object:  g,
		Creates: []string{"instanceType", "scalingConfig[0]", "subnetIds"},
		Taken:   func() any { return g.Spec.ForProvider.Upgrade },
		Left:    func() any { return g.Spec.ForProvider.InstanceType },
		Change: func(ctx context.Context) error {
			theirs := []nodegroup.ScalingConfigInput{{MaxSize: new(6)}}
			_, err := w.groups.Update(ctx, meta.GetExternalName(g), nodegroup.UpdateNodeGroupInput{ScalingConfig: &theirs})
			return err
		},
		Want: []xpv1.FieldDifference{{Path: "scalingConfig[0].maxSize", Desired: "4", Observed: "6"}},
		State: func(ctx context.Context) (any, error) {
			have, err := w.groups.Get(ctx, meta.GetExternalName(g))
			if err != nil {
				return nil, err
			}
			return have.ScalingConfig[0].MaxSize, nil
		},
		Declared: 4,
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.TestDrift(t, func(ctx context.Context) (any, error) {
		stats, err := w.admin.Stats(ctx)
		return stats.Count("", "", "") - stats.Count(http.MethodGet, "", ""), err
	}, w.drifts(t))
}
