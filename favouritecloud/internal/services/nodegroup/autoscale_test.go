// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

func TestAutoscalerGoesUpAndDown(t *testing.T) {
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
			g := group{Shown: api.NodeGroup{
				ScalingConfig: []api.ScalingConfig{tc.given}, Labels: map[string]string{api.AutoscaleLabel: "true"},
			}}
			var got []int
			for range tc.want {
				if !autoscales(g) {
					t.Fatal("the group is left alone")
				}
				g = scaled(g)
				got = append(got, g.Shown.ScalingConfig[0].DesiredSize)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
