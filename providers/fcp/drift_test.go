// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A driftCase is a kind whose external resource somebody changes.
type driftCase struct {
	object  resource.Managed
	creates []string                    // the fields that a creation would set
	taken   func() any                  // what late initialization took over
	left    func() any                  // what it must not take over, since the cloud may change it
	change  func(context.Context) error // what somebody does
	want    []xpv1.FieldDifference      // what is told while nothing may be done about it
	healed  func(context.Context) (any, error)
	as      any // what it is like again
}

// driftCases has every kind of every scope.
func (w *world) driftCases(t *testing.T) map[string]driftCase {
	n, err := w.networks.CreateNetwork(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.subnets.CreateSubnet(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.1.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	cluster, namespaced := w.clusterNetwork(), w.network("drifting")
	return map[string]driftCase{
		"FavouriteDBInstance": w.databaseDrift(),
		"CacheInstance":       w.cacheDrift(),
		"cluster Network":     w.networkDrift(cluster),
		"Network":             w.networkDrift(namespaced),
		"Subnet":              w.subnetDrift(n.ID),
		"NodeGroup":           w.nodeGroupDrift(s.ID),
	}
}

func (w *world) databaseDrift() driftCase {
	db, instances := w.database("drifting"), database.NewClient(w.cloud)
	return driftCase{
		object:  db,
		creates: []string{"fancinessLevel"},
		taken:   func() any { return db.Spec.ForProvider.Version },
		change: func(ctx context.Context) error {
			_, err := instances.UpdateInstance(ctx, meta.GetExternalName(db), database.UpdateInstanceInput{FancinessLevel: new(20)})
			return err
		},
		want: []xpv1.FieldDifference{{Path: "fancinessLevel", Desired: "10", Observed: "20"}},
		healed: func(ctx context.Context) (any, error) {
			have, err := instances.GetInstance(ctx, meta.GetExternalName(db))
			if err != nil {
				return nil, err
			}
			return have.FancinessLevel, nil
		},
		as: 10,
	}
}

// networkDrift has somebody change what was declared, and what was taken over.
func (w *world) networkDrift(n networkObject) driftCase {
	n.Parameters().Description = new("ours")
	return driftCase{
		object:  n,
		creates: []string{"cidrBlock", "description"},
		taken:   func() any { return n.Parameters().MTU },
		change: func(ctx context.Context) error {
			theirs := network.UpdateNetworkInput{Description: new("theirs"), MTU: new(1400)}
			_, err := w.networks.UpdateNetwork(ctx, meta.GetExternalName(n), theirs)
			return err
		},
		want: []xpv1.FieldDifference{
			{Path: "description", Desired: `"ours"`, Observed: `"theirs"`},
			{Path: "mtu", Desired: fmt.Sprint(network.DefaultMTU), Observed: "1400"},
		},
		healed: func(ctx context.Context) (any, error) {
			have, err := w.networks.GetNetwork(ctx, meta.GetExternalName(n))
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(have.Description, " ", have.MTU), nil
		},
		as: fmt.Sprint("ours ", network.DefaultMTU),
	}
}

// subnetDrift has somebody change a label: there is nothing else to change.
func (w *world) subnetDrift(networkID string) driftCase {
	s := w.subnet("drifting", networkID, "10.1.2.0/24")
	s.Spec.ForProvider.Labels = map[string]string{"tier": "web"}
	return driftCase{
		object:  s,
		creates: []string{"cidrBlock", "labels.tier", "networkId"},
		taken:   func() any { return s.Spec.ForProvider.Zone },
		change: func(ctx context.Context) error {
			have, err := w.subnets.GetSubnet(ctx, meta.GetExternalName(s))
			if err != nil {
				return err
			}
			have.Labels["tier"] = "data"
			_, err = w.subnets.UpdateSubnet(ctx, have.ID, subnet.UpdateSubnetInput{Labels: have.Labels})
			return err
		},
		want: []xpv1.FieldDifference{{Path: "labels.tier", Desired: `"web"`, Observed: `"data"`}},
		healed: func(ctx context.Context) (any, error) {
			have, err := w.subnets.GetSubnet(ctx, meta.GetExternalName(s))
			if err != nil {
				return nil, err
			}
			return have.Labels["tier"], nil
		},
		as: "web",
	}
}

func (w *world) nodeGroupDrift(subnetID string) driftCase {
	g := w.nodeGroup("drifting", subnetID)
	g.Spec.InitProvider.InstanceType = new("large")
	return driftCase{
		object:  g,
		creates: []string{"instanceType", "scalingConfig[0]", "subnetIds"},
		taken:   func() any { return g.Spec.ForProvider.Upgrade },
		left:    func() any { return g.Spec.ForProvider.InstanceType },
		change: func(ctx context.Context) error {
			theirs := []nodegroup.ScalingConfigInput{{MaxSize: new(6)}}
			_, err := w.groups.UpdateNodeGroup(ctx, meta.GetExternalName(g), nodegroup.UpdateNodeGroupInput{ScalingConfig: &theirs})
			return err
		},
		want: []xpv1.FieldDifference{{Path: "scalingConfig[0].maxSize", Desired: "4", Observed: "6"}},
		healed: func(ctx context.Context) (any, error) {
			have, err := w.groups.GetNodeGroup(ctx, meta.GetExternalName(g))
			if err != nil {
				return nil, err
			}
			return have.ScalingConfig[0].MaxSize, nil
		},
		as: 4,
	}
}

// TestDrift makes an object of each kind, takes the right to change anything from it, changes the external resource by hand,
// sees what the object says and what is planned, and gives the right back.
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases, p := w.driftCases(t), w.planner(t)
	p.covers(t, cases)
	for name, tc := range cases {
		t.Run("N8 plan of a new "+name, func(t *testing.T) { p.creates(t, tc) })
	}
	for name, tc := range cases {
		t.Run("R40 R114 R146 R149 R150 N8 P80 P81 "+name, func(t *testing.T) {
			t.Parallel()
			w.create(t, tc.object)
			w.settled(t, tc.object)
			if fmt.Sprint(tc.taken()) == "<nil>" {
				t.Error("R149 R150 nothing is taken over of what the cloud chose")
			}
			if tc.left != nil && fmt.Sprint(tc.left()) != "<nil>" {
				t.Error("R146 what was chosen for the creation only would be enforced")
			}
			p.plans(t, "N8 nothing changed", tc.object, managed.Plan{Action: managed.PlanNothing})
			w.change(t, tc.object, func() { tc.object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionObserve}) })
			if err := tc.change(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "N8 P80 P81 the object tells what differs", func(ctx context.Context) error { return w.tells(ctx, tc.object, tc.want) })
			p.plansChanges(t, tc)
			w.change(t, tc.object, func() { tc.object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll}) })
			w.Eventually(t, "R40 it is as declared again", func(ctx context.Context) error {
				if got, err := tc.healed(ctx); err != nil || got != tc.as {
					return fmt.Errorf("it is %v, want %v; error %v", got, tc.as, err)
				}
				return w.tells(ctx, tc.object, nil)
			})
		})
	}
}

// tells returns nil if the object's status says that this differs, in fields and in words.
func (w *world) tells(ctx context.Context, mg resource.Managed, want []xpv1.FieldDifference) error {
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	if diff := cmp.Diff(want, mg.(resource.Drifting).GetDrift()); diff != "" {
		return fmt.Errorf("status.drift -want +got:\n%s", diff)
	}
	said := mg.GetCondition(xpv1.TypeInSync)
	if (said.Status == corev1.ConditionTrue) != (len(want) == 0) {
		return fmt.Errorf("InSync is %s: %s", said.Status, said.Reason)
	}
	for _, field := range want {
		if said.Reason != xpv1.ReasonDrifted || !strings.Contains(said.Message, field.Path) {
			return fmt.Errorf("InSync says %s %q, without %s", said.Reason, said.Message, field.Path)
		}
	}
	return nil
}
