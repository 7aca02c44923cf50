// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"cmp"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// changedUpgrade applies a request to the upgrade settings, which default to those of a new group.
func changedUpgrade(current *api.Upgrade, in api.UpgradeInput) *api.Upgrade {
	defaults := api.Upgrade{Strategy: api.DefaultStrategy, MaxUnavailable: api.DefaultMaxUnavailable, Version: api.Version}
	u := *cmp.Or(current, &defaults)
	u.Strategy = *cmp.Or(in.Strategy, &u.Strategy)
	u.MaxUnavailable = *cmp.Or(in.MaxUnavailable, &u.MaxUnavailable)
	return &u
}

// upgraded returns the upgrade settings after all machines were replaced.
func upgraded(current *api.Upgrade, now time.Time) *api.Upgrade {
	u := changedUpgrade(current, api.UpgradeInput{})
	u.Version, u.LastUpgradeAt = api.Version, new(now.UTC().Truncate(time.Second))
	return u
}

// changedRepair applies a request to the repair settings, which default to those of a new group.
func changedRepair(current *api.Repair, in api.RepairInput) *api.Repair {
	r := *cmp.Or(current, &api.Repair{Enabled: api.DefaultRepairEnabled})
	r.Enabled = *cmp.Or(in.Enabled, &r.Enabled)
	return &r
}

func validateUpgrade(u *api.Upgrade) error {
	if u == nil {
		return nil
	}
	if u.Strategy != api.StrategyRolling && u.Strategy != api.StrategyRecreate {
		return refusal.Invalid("upgrade: strategy %q is not valid: use %s or %s", u.Strategy, api.StrategyRolling, api.StrategyRecreate)
	}
	if u.MaxUnavailable < 1 || u.MaxUnavailable > api.MaxSize {
		return refusal.Invalid("upgrade: max_unavailable %d is not valid: it must be 1 to %d", u.MaxUnavailable, api.MaxSize)
	}
	return nil
}
