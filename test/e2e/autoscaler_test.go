// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	"github.com/bowline-dev/bowline/test/plane"
)

// Scenario 8: the size belongs to the cloud's autoscaler, the bounds to the user.
func autoscaled(t *testing.T, s *stage) {
	group := s.autoscaledGroup(t)
	states := follow(t, s.Plane, &computev1alpha3.NodeGroupList{}, client.InNamespace(group.Namespace))
	t.Run("created with both (R138, R141)", func(t *testing.T) {
		create(t, s.Plane, group)
		awaitSettled(t, s.Plane, group)
		s.sized(t, group.Name, 1, 5, 2)
	})
	t.Run("the autoscaler's change stays and is no drift (R139, R143, R145)", func(t *testing.T) {
		for _, size := range []int{3, 4} {
			if _, err := s.cloud.NodeGroups.Autoscale(t.Context(), group.Name, size); err != nil {
				t.Fatal(err)
			}
			s.Eventually(t, within, "a pass has seen the change", func(ctx context.Context) error { return s.observed(ctx, group, size) })
			s.sized(t, group.Name, 1, 5, size)
		}
		if updates := s.groupUpdates(t); updates != 0 {
			t.Errorf("%d updates, want none", updates)
		}
	})
	t.Run("a change of the bounds does not send the size (R144)", func(t *testing.T) {
		for _, bound := range []int{3, 6} { // were the size sent, the cloud would refuse 4 of 3, or go back to 2
			patch(t, s.Plane, group, fmt.Sprintf(`{"spec":{"forProvider":{"scalingConfig":[{"minSize":1,"maxSize":%d}]}}}`, bound))
			awaitSettled(t, s.Plane, group)
			s.sized(t, group.Name, 1, bound, 3)
		}
		if updates := s.groupUpdates(t); updates != 2 {
			t.Errorf("%d updates, want 2", updates)
		}
	})
	if e, err := states.first(drifted); err == nil {
		t.Errorf("drift was reported: %s (P81)", e.GetCondition(xpv1.TypeInSync).Message)
	}
	deleteAndWait(t, s.Plane, group)
}

// drifted is true for an object that is not as declared after the reconciler did what it may.
func drifted(e entry) bool { return e.GetCondition(xpv1.TypeInSync).Status == corev1.ConditionFalse }

// autoscaledGroup returns a group that is not created yet, in a subnet of no object.
func (s *stage) autoscaledGroup(t *testing.T) *computev1alpha3.NodeGroup {
	t.Helper()
	n, err := s.cloud.Networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.8.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	sub, err := s.cloud.Subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.8.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	group := &computev1alpha3.NodeGroup{ObjectMeta: metav1.ObjectMeta{Namespace: plane.Namespace, Name: "autoscaled"}}
	group.Spec.ManagementPolicies = xpv1.ManagementPolicies{
		xpv1.ManagementActionObserve, xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete,
	}
	group.Spec.ForProvider.SubnetIDs = []string{sub.ID}
	group.Spec.ForProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{MinSize: new(1), MaxSize: new(5)}}
	group.Spec.InitProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{DesiredSize: new(2)}}
	return group
}

// sized checks the sizes that the cloud has.
func (s *stage) sized(t *testing.T, name string, least, most, desired int) {
	t.Helper()
	have, err := s.cloud.NodeGroups.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	want := []nodegroup.ScalingConfig{{MinSize: least, MaxSize: most, DesiredSize: desired}}
	if diff := cmp.Diff(want, have.ScalingConfig); diff != "" {
		t.Errorf("the cloud's sizes -want +got:\n%s", diff)
	}
}

// observed returns nil if the status of the group shows the size.
func (s *stage) observed(ctx context.Context, group *computev1alpha3.NodeGroup, desired int) error {
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
		return err
	}
	if have := group.Status.AtProvider.ScalingConfig; len(have) != 1 || have[0].DesiredSize != desired {
		return fmt.Errorf("status.atProvider has %+v", have)
	}
	return nil
}

// groupUpdates returns how many updates of node groups the cloud got.
func (s *stage) groupUpdates(t *testing.T) int {
	t.Helper()
	stats, err := s.Admin(t).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stats.Count(http.MethodPatch, "node-groups", "")
}

func deleteAndWait(t *testing.T, p *plane.Plane, mg *computev1alpha3.NodeGroup) {
	t.Helper()
	if err := p.Client.Delete(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	p.Eventually(t, within, mg.Name+" is deleted", func(ctx context.Context) error { return deleted(ctx, p, mg) })
}
