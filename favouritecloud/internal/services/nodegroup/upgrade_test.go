// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

func TestUpgrade(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600))
	then := new(time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC))
	cases := map[string]struct {
		got  *api.Upgrade
		want api.Upgrade
	}{
		"the cloud's choices": {
			changedUpgrade(nil, api.UpgradeInput{}),
			api.Upgrade{Strategy: "ROLLING", MaxUnavailable: 1, Version: api.Version},
		},
		"what a request chooses": {
			changedUpgrade(nil, api.UpgradeInput{Strategy: new("RECREATE"), MaxUnavailable: new(2)}),
			api.Upgrade{Strategy: "RECREATE", MaxUnavailable: 2, Version: api.Version},
		},
		"a change leaves the machines as they are": {
			changedUpgrade(&api.Upgrade{Strategy: "RECREATE", Version: "2025.1"}, api.UpgradeInput{MaxUnavailable: new(2)}),
			api.Upgrade{Strategy: "RECREATE", MaxUnavailable: 2, Version: "2025.1"},
		},
		"new machines have new software": {
			upgraded(&api.Upgrade{Strategy: "RECREATE", MaxUnavailable: 2, Version: "2025.1"}, now),
			api.Upgrade{Strategy: "RECREATE", MaxUnavailable: 2, Version: api.Version, LastUpgradeAt: then},
		},
		"new machines of a group of an older cloud": {
			upgraded(nil, now), api.Upgrade{Strategy: "ROLLING", MaxUnavailable: 1, Version: api.Version, LastUpgradeAt: then},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&tc.want, tc.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
