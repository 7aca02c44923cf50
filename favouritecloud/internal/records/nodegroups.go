// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"context"
	"regexp"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"

	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

const maxSubnets = 16

// group is a node group with the direction of the autoscaler.
type group struct {
	api.NodeGroup
	Shrinking bool
}

// NodeGroups is the node group service.
type NodeGroups struct {
	*service.Service[group, api.CreateNodeGroupInput, api.UpdateNodeGroupInput]
}

// newGroup returns the group that a request describes, with defaults.
func newGroup(in api.CreateNodeGroupInput) (r service.Record[group], err error) {
	r.Name, r.Labels = in.Name, in.Labels
	g := &r.Spec
	g.SubnetIDs, g.InstanceType = in.SubnetIDs, *cmp.Or(in.InstanceType, new(api.DefaultInstanceType))
	g.Upgrade = changedUpgrade(nil, *cmp.Or(in.Upgrade, &api.UpgradeInput{}))
	g.Repair = changedRepair(nil, *cmp.Or(in.Repair, &api.RepairInput{}))
	if len(in.SubnetIDs) == 0 || len(in.SubnetIDs) > maxSubnets {
		return r, refusal.Invalid("subnet_ids must have 1 to %d ids of subnets, not %d", maxSubnets, len(in.SubnetIDs))
	}
	if len(in.ScalingConfig) != 1 || in.ScalingConfig[0].MinSize == nil || in.ScalingConfig[0].MaxSize == nil {
		return r, refusal.Invalid("scaling_config must have exactly one entry, with min_size and max_size")
	}
	g.ScalingConfig, err = changedScaling(api.ScalingConfig{DesiredSize: *in.ScalingConfig[0].MinSize}, in.ScalingConfig)
	if err != nil {
		return r, err
	}
	return r, validate(g)
}

func updateGroup(r *service.Record[group], in api.UpdateNodeGroupInput) (err error) {
	g := &r.Spec
	if in.ScalingConfig != nil {
		if g.ScalingConfig, err = changedScaling(g.ScalingConfig[0], *in.ScalingConfig); err != nil {
			return err
		}
	}
	if in.Upgrade != nil {
		g.Upgrade = changedUpgrade(g.Upgrade, *in.Upgrade)
	}
	if in.Repair != nil {
		g.Repair = changedRepair(g.Repair, *in.Repair)
	}
	if in.InstanceType != nil && *in.InstanceType != g.InstanceType {
		g.InstanceType = *in.InstanceType
		g.Upgrade = upgraded(g.Upgrade, time.Now())
	}
	r.SetLabels(in.Labels)
	return validate(g)
}

// validate checks the fields that both create and update requests can set.
func validate(g *group) error {
	if !regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$`).MatchString(g.InstanceType) {
		return refusal.Invalid("instance_type %q is not valid: use 1 to 63 lower case letters, digits, dots and hyphens",
			g.InstanceType)
	}
	switch u := g.Upgrade; {
	case u == nil:
		return nil
	case u.Strategy != api.StrategyRolling && u.Strategy != api.StrategyRecreate:
		return refusal.Invalid("upgrade: strategy %q is not valid: use %s or %s", u.Strategy, api.StrategyRolling, api.StrategyRecreate)
	case u.MaxUnavailable < 1 || u.MaxUnavailable > api.MaxSize:
		return refusal.Invalid("upgrade: max_unavailable %d is not valid: it must be 1 to %d", u.MaxUnavailable, api.MaxSize)
	}
	return nil
}

// changedScaling applies the entry of a request. It clamps the desired size to new bounds unless the request sets it.
func changedScaling(s api.ScalingConfig, in []api.ScalingConfigInput) ([]api.ScalingConfig, error) {
	if len(in) != 1 {
		return nil, refusal.Invalid("scaling_config must have exactly one entry, not %d", len(in))
	}
	s.MinSize, s.MaxSize = *cmp.Or(in[0].MinSize, &s.MinSize), *cmp.Or(in[0].MaxSize, &s.MaxSize)
	if s.MinSize < 0 || s.MaxSize < max(1, s.MinSize) || s.MaxSize > api.MaxSize {
		return nil, refusal.Invalid("scaling_config: min_size %d and max_size %d are not valid: use 0 <= min_size <= max_size, "+
			"and a max_size of 1 to %d", s.MinSize, s.MaxSize, api.MaxSize)
	}
	clamped := min(max(s.DesiredSize, s.MinSize), s.MaxSize)
	s.DesiredSize = *cmp.Or(in[0].DesiredSize, &clamped)
	if s.DesiredSize < s.MinSize || s.DesiredSize > s.MaxSize {
		return nil, refusal.Invalid("scaling_config: desired_size %d is not valid: it must be %d to %d",
			s.DesiredSize, s.MinSize, s.MaxSize)
	}
	return []api.ScalingConfig{s}, nil
}

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

// Autoscale answers a request to set the desired size, as the autoscaler does.
func (s *NodeGroups) Autoscale(_ context.Context, project, name string, decode service.Decode) (any, error) {
	return s.Update(project, name, func(change any) error {
		var in api.AutoscaleInput
		if err := decode(&in); err != nil {
			return err
		}
		if in.DesiredSize == nil {
			return refusal.Invalid("desired_size is required")
		}
		change.(*api.UpdateNodeGroupInput).ScalingConfig = &[]api.ScalingConfigInput{{DesiredSize: in.DesiredSize}}
		return nil
	})
}

// Run autoscales all groups by one step after each interval, so that clients meet a field with another writer.
func (s *NodeGroups) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.EditAll(scale); err != nil {
			s.Log.Error("scaling node groups failed; retrying", "error", err)
		}
	}
}

// scale changes the size of a group with autoscaling by one, up and down between its bounds. It reports whether it did.
func scale(r *service.Record[group]) bool {
	g, size := &r.Spec, &r.Spec.ScalingConfig[0]
	if r.Labels[api.AutoscaleLabel] != "true" || size.MinSize >= size.MaxSize {
		return false
	}
	switch {
	case size.DesiredSize >= size.MaxSize:
		g.Shrinking = true
	case size.DesiredSize <= size.MinSize:
		g.Shrinking = false
	}
	if g.Shrinking {
		size.DesiredSize = max(size.DesiredSize-1, size.MinSize)
	} else {
		size.DesiredSize++
	}
	return true
}
