// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providertest"
)

// driftOf returns the drift of an object after an update by others; state returns what the update changes.
func driftOf[T, Change any](
	mg resource.Managed, get func(context.Context, string) (*T, error), state func(*T) any,
	update func(context.Context, string, Change) (*T, error), theirs Change,
) providertest.Drift {
	return providertest.Drift{
		Object: mg,
		Change: func(ctx context.Context) error {
			_, err := update(ctx, meta.GetExternalName(mg), theirs)
			return err
		},
		State: func(ctx context.Context) (any, error) {
			have, err := get(ctx, meta.GetExternalName(mg))
			if err != nil {
				return nil, err
			}
			return state(have), nil
		},
	}
}

func (w *world) databaseDrift() providertest.Drift {
	db, c := w.database("drifting"), database.NewClient(w.cloud)
	d := driftOf(db, c.Get, func(i *database.Instance) any { return i.FancinessLevel },
		c.Update, database.UpdateInstanceInput{FancinessLevel: new(20)})
	d.Declared, d.Creates = 10, []string{"fancinessLevel"}
	d.Want = []xpv1.FieldDifference{{Path: "fancinessLevel", Desired: "10", Observed: "20"}}
	d.Taken = func() any { return db.Spec.ForProvider.Version }
	return d
}

func (w *world) cacheDrift() providertest.Drift {
	i, c := w.cache("drifting"), cache.NewClient(w.cloud)
	d := driftOf(i, c.Get, func(i *cache.Instance) any { return fmt.Sprint(i.EvictionPolicy, " ", i.MemoryMegabytes) },
		c.Update, cache.UpdateInstanceInput{MemoryMegabytes: new(9), EvictionPolicy: new("noeviction")})
	d.Declared, d.Creates = "volatile-lru 8", []string{"memoryMegabytes"}
	d.Want = []xpv1.FieldDifference{
		{Path: "evictionPolicy", Desired: `"volatile-lru"`, Observed: `"noeviction"`},
		{Path: "memoryMegabytes", Desired: "8", Observed: "9"},
	}
	d.Taken = func() any { return i.Spec.ForProvider.EvictionPolicy }
	return d
}

func (w *world) clusterDrift() providertest.Drift {
	k, c := w.cluster("drifting"), cluster.NewClient(w.cloud)
	k.Spec.ForProvider.Labels = map[string]string{"tier": "web"}
	theirs := func(ctx context.Context, name, tier string) (*cluster.Cluster, error) {
		have, err := c.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		have.Labels["tier"] = tier
		return c.Update(ctx, name, cluster.UpdateClusterInput{Labels: have.Labels})
	}
	d := driftOf(k, c.Get, func(c *cluster.Cluster) any { return c.Labels["tier"] }, theirs, "data")
	d.Declared, d.Creates = "web", []string{"labels.tier"}
	d.Want = []xpv1.FieldDifference{{Path: "labels.tier", Desired: `"web"`, Observed: `"data"`}}
	d.Taken = func() any { return k.Spec.ForProvider.Version }
	return d
}

func (w *world) networkDrift(n networkObject) providertest.Drift {
	n.Parameters().Description = new("ours")
	d := driftOf(n, w.networks.Get, func(n *network.Network) any { return fmt.Sprint(n.Description, " ", n.MTU) },
		w.networks.Update, network.UpdateNetworkInput{Description: new("theirs"), MTU: new(1400)})
	d.Declared, d.Creates = fmt.Sprint("ours ", network.DefaultMTU), []string{"cidrBlock", "description"}
	d.Want = []xpv1.FieldDifference{
		{Path: "description", Desired: `"ours"`, Observed: `"theirs"`},
		{Path: "mtu", Desired: fmt.Sprint(network.DefaultMTU), Observed: "1400"},
	}
	d.Taken = func() any { return n.Parameters().MTU }
	return d
}

func (w *world) subnetDrift(networkID string) providertest.Drift {
	s := w.subnet("drifting", networkID, "10.1.2.0/24")
	s.Spec.ForProvider.Labels = map[string]string{"tier": "web"}
	theirs := func(ctx context.Context, id, tier string) (*subnet.Subnet, error) {
		have, err := w.subnets.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		have.Labels["tier"] = tier
		return w.subnets.Update(ctx, id, subnet.UpdateSubnetInput{Labels: have.Labels})
	}
	d := driftOf(s, w.subnets.Get, func(s *subnet.Subnet) any { return s.Labels["tier"] }, theirs, "data")
	d.Declared, d.Creates = "web", []string{"cidrBlock", "labels.tier", "networkId"}
	d.Want = []xpv1.FieldDifference{{Path: "labels.tier", Desired: `"web"`, Observed: `"data"`}}
	d.Taken = func() any { return s.Spec.ForProvider.Zone }
	return d
}

func (w *world) nodeGroupDrift(subnetID string) providertest.Drift {
	g := w.nodeGroup("drifting", subnetID)
	g.Spec.InitProvider.InstanceType = new("large")
	d := driftOf(g, w.groups.Get, func(g *nodegroup.NodeGroup) any { return g.ScalingConfig[0].MaxSize },
		w.groups.Update, nodegroup.UpdateNodeGroupInput{ScalingConfig: &[]nodegroup.ScalingConfigInput{{MaxSize: new(6)}}})
	d.Declared, d.Creates = 4, []string{"instanceType", "scalingConfig[0]", "subnetIds"}
	d.Want = []xpv1.FieldDifference{{Path: "scalingConfig[0].maxSize", Desired: "4", Observed: "6"}}
	d.Taken = func() any { return g.Spec.ForProvider.Upgrade }
	d.Left = func() any { return g.Spec.ForProvider.InstanceType }
	return d
}

func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.1.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	writes := func(ctx context.Context) (any, error) {
		stats, err := w.admin.Stats(ctx)
		return stats.Count("", "", "") - stats.Count(http.MethodGet, "", ""), err
	}
	cases := map[string]providertest.Drift{
		"FavouriteDBInstance": w.databaseDrift(),
		"CacheInstance":       w.cacheDrift(),
		"FavouriteCluster":    w.clusterDrift(),
		"cluster Network":     w.networkDrift(w.clusterNetwork()),
		"Network":             w.networkDrift(w.network("drifting")),
		"Subnet":              w.subnetDrift(n.ID),
		"NodeGroup":           w.nodeGroupDrift(s.ID),
	}
	t.Run("is planned, reported, and settled (R40, R114, R149, R150, N8, P80, P81)", func(t *testing.T) { w.TestDrift(t, writes, cases) })
}

// twoClouds has a configuration that leads to another cloud later.
func twoClouds(t *testing.T, w *world) {
	other := newCloud(t)
	w.keySecret(t, "two", other.key(t, project))
	config := &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: w.settings(other.endpoint, project, "two")}
	w.Create(t, config)
	n := w.network("moved")
	n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "two"}
	w.Create(t, n)
	w.Settled(t, n)
	to := func(endpoint, secret string) {
		w.Eventually(t, "the configuration leads to "+endpoint, func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
				return err
			}
			config.Spec = w.settings(endpoint, project, secret)
			return w.Client.Update(ctx, config)
		})
	}
	to(w.endpoint, "key")
	w.reports(t, n, "was last seen in external system "+other.endpoint)
	to(other.endpoint, "two")
	w.Remove(t, n)
}
