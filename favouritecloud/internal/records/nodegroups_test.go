// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

func TestUpgrade(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600))
	old := api.Upgrade{Strategy: "RECREATE", MaxUnavailable: 2, Version: "2025.1"}
	changed, replaced, first := old, old, api.Upgrade{Strategy: "ROLLING", MaxUnavailable: 1, Version: api.Version}
	changed.MaxUnavailable = 3
	replaced.Version, replaced.LastUpgradeAt = api.Version, new(time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC))
	first.LastUpgradeAt = replaced.LastUpgradeAt
	got := []*api.Upgrade{
		changedUpgrade(&old, api.UpgradeInput{MaxUnavailable: new(3)}), // leaves the machines as they are
		upgraded(&old, now), // new machines have new software
		upgraded(nil, now),  // of a group of an older cloud
	}
	if diff := cmp.Diff([]*api.Upgrade{&changed, &replaced, &first}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAutoscalerScalesUpAndDown(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		given api.ScalingConfig
		want  []int
	}{
		"from the bottom": {api.ScalingConfig{MinSize: 1, MaxSize: 4, DesiredSize: 1}, []int{2, 3, 4, 3, 2, 1, 2, 3}},
		"from the top":    {api.ScalingConfig{MinSize: 1, MaxSize: 3, DesiredSize: 3}, []int{2, 1, 2, 3, 2, 1, 2, 3}},
		"from between":    {api.ScalingConfig{MinSize: 0, MaxSize: 3, DesiredSize: 2}, []int{3, 2, 1, 0, 1, 2, 3, 2}},
		"two sizes":       {api.ScalingConfig{MinSize: 1, MaxSize: 2, DesiredSize: 1}, []int{2, 1, 2, 1, 2, 1, 2, 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := service.Record[group]{
				Labels: map[string]string{api.AutoscaleLabel: "true"},
				Spec:   group{NodeGroup: api.NodeGroup{ScalingConfig: []api.ScalingConfig{tc.given}}},
			}
			var got []int
			for range tc.want {
				if !scale(&r) {
					t.Fatal("the group is left alone")
				}
				got = append(got, r.Spec.ScalingConfig[0].DesiredSize)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
