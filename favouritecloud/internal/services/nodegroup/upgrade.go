// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"cmp"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// changedUpgrade applies what a request says of upgrades. A group that has nothing yet gets the cloud's choices.
func changedUpgrade(have *api.Upgrade, in api.UpgradeInput) *api.Upgrade {
	choices := api.Upgrade{Strategy: api.DefaultStrategy, MaxUnavailable: api.DefaultMaxUnavailable, Version: api.Version}
	u := *cmp.Or(have, &choices)
	if in.Strategy != nil {
		u.Strategy = *in.Strategy
	}
	if in.MaxUnavailable != nil {
		u.MaxUnavailable = *in.MaxUnavailable
	}
	return &u
}

// upgraded is what is known of upgrades after all machines gave way to others.
func upgraded(have *api.Upgrade, now time.Time) *api.Upgrade {
	u := changedUpgrade(have, api.UpgradeInput{})
	u.Version, u.LastUpgradeAt = api.Version, new(now.UTC().Truncate(time.Second))
	return u
}

// changedRepair applies what a request says of repairs. A group that has nothing yet gets the cloud's choice.
func changedRepair(have *api.Repair, in api.RepairInput) *api.Repair {
	r := *cmp.Or(have, &api.Repair{Enabled: api.DefaultRepairEnabled})
	if in.Enabled != nil {
		r.Enabled = *in.Enabled
	}
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
