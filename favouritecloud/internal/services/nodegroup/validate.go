// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

const maxSubnets = 16

// newGroup returns the group that a request describes, with defaults.
func newGroup(in api.CreateNodeGroupInput, now time.Time) (api.NodeGroup, error) {
	g := api.NodeGroup{
		Name: in.Name, SubnetIDs: slices.Clone(in.SubnetIDs), InstanceType: *cmp.Or(in.InstanceType, new(api.DefaultInstanceType)),
		Upgrade: changedUpgrade(nil, *cmp.Or(in.Upgrade, &api.UpgradeInput{})),
		Repair:  changedRepair(nil, *cmp.Or(in.Repair, &api.RepairInput{})),
		Labels:  maps.Clone(in.Labels), Status: sdk.StatusAvailable, CreatedAt: now.UTC().Truncate(time.Second),
	}
	if err := rules.Name("name", in.Name); err != nil {
		return g, err
	}
	if len(in.SubnetIDs) == 0 || len(in.SubnetIDs) > maxSubnets {
		return g, refusal.Invalid("subnet_ids must have 1 to %d ids of subnets, not %d", maxSubnets, len(in.SubnetIDs))
	}
	if len(in.ScalingConfig) != 1 || in.ScalingConfig[0].MinSize == nil || in.ScalingConfig[0].MaxSize == nil {
		return g, refusal.Invalid("scaling_config must have exactly one entry, with min_size and max_size")
	}
	scaling, err := changedScaling(api.ScalingConfig{DesiredSize: *in.ScalingConfig[0].MinSize}, in.ScalingConfig)
	if err != nil {
		return g, err
	}
	g.ScalingConfig = []api.ScalingConfig{scaling}
	return g, validate(g)
}

// validate checks the fields that both create and update requests can set.
func validate(g api.NodeGroup) error {
	if !regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$`).MatchString(g.InstanceType) {
		return refusal.Invalid("instance_type %q is not valid: use 1 to 63 lower case letters, digits, dots and hyphens", g.InstanceType)
	}
	if err := validateUpgrade(g.Upgrade); err != nil {
		return err
	}
	return rules.Labels(g.Labels)
}

// changedScaling applies the entry of a request. It clamps the desired size to new bounds unless the request sets it.
func changedScaling(s api.ScalingConfig, in []api.ScalingConfigInput) (api.ScalingConfig, error) {
	if len(in) != 1 {
		return s, refusal.Invalid("scaling_config must have exactly one entry, not %d", len(in))
	}
	s.MinSize, s.MaxSize = *cmp.Or(in[0].MinSize, &s.MinSize), *cmp.Or(in[0].MaxSize, &s.MaxSize)
	if s.MinSize < 0 || s.MaxSize < max(1, s.MinSize) || s.MaxSize > api.MaxSize {
		return s, refusal.Invalid("scaling_config: min_size %d and max_size %d are not valid: use 0 <= min_size <= max_size, "+
			"and a max_size of 1 to %d",
			s.MinSize, s.MaxSize, api.MaxSize)
	}
	if in[0].DesiredSize == nil {
		s.DesiredSize = min(max(s.DesiredSize, s.MinSize), s.MaxSize)
		return s, nil
	}
	s.DesiredSize = *in[0].DesiredSize
	if s.DesiredSize < s.MinSize || s.DesiredSize > s.MaxSize {
		return s, refusal.Invalid("scaling_config: desired_size %d is not valid: it must be %d to %d", s.DesiredSize, s.MinSize, s.MaxSize)
	}
	return s, nil
}
