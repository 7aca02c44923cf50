// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import "time"

// States of a node group.
const (
	// StatusCreating: the group is being made.
	StatusCreating = "CREATING"
	// StatusAvailable: the group can be used.
	StatusAvailable = "AVAILABLE"
	// StatusDeleting: the group is being removed.
	StatusDeleting = "DELETING"
)

// Strategies of an upgrade.
const (
	// StrategyRolling: machines give way a few at a time, MaxUnavailable at most.
	StrategyRolling = "ROLLING"
	// StrategyRecreate: all machines give way at once.
	StrategyRecreate = "RECREATE"
)

const (
	// DefaultInstanceType is the instance type of a group for which none was asked.
	DefaultInstanceType = "small"
	// DefaultStrategy is the strategy of a group for which none was asked.
	DefaultStrategy = StrategyRolling
	// DefaultMaxUnavailable is how many machines of a group may be away when nobody said how many.
	DefaultMaxUnavailable = 1
	// DefaultRepairEnabled tells whether machines of a group are repaired when nobody said so.
	DefaultRepairEnabled = true
	// Version is that of the software of machines that are made now.
	Version = "2026.1"
	// AutoscaleLabel, with the value "true", has the cloud change the desired size of a group by itself.
	AutoscaleLabel = "autoscale"
	// MaxSize is the largest size of a group.
	MaxSize = 1000
)

// NodeGroup is a node group as the cloud sees it.
type NodeGroup struct {
	// Name is unique in the project.
	Name string `json:"name"`
	// SubnetIDs are where the machines are. They never change.
	SubnetIDs []string `json:"subnet_ids"`
	// ScalingConfig has exactly one entry.
	ScalingConfig []ScalingConfig `json:"scaling_config"`
	// InstanceType is the sort of machines.
	InstanceType string `json:"instance_type"`
	// Upgrade says how machines give way to others. Nil for a group that a cloud without upgrades made and nobody changed.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Repair says what becomes of broken machines. Nil as Upgrade is.
	Repair *Repair `json:"repair,omitempty"`
	// Labels are the caller's. The cloud searches them and obeys AutoscaleLabel.
	Labels map[string]string `json:"labels,omitempty"`
	// Status is one of the Status constants.
	Status string `json:"status"`
	// CreatedAt is when the create request was accepted, in whole seconds.
	CreatedAt time.Time `json:"created_at"`
}

// ScalingConfig says how many machines there are.
type ScalingConfig struct {
	// MinSize is the smallest size, at least 0.
	MinSize int `json:"min_size"`
	// MaxSize is the largest size, 1 to the constant MaxSize.
	MaxSize int `json:"max_size"`
	// DesiredSize is the present size, MinSize to MaxSize.
	DesiredSize int `json:"desired_size"`
}

// ScalingConfigInput says how many machines there shall be.
type ScalingConfigInput struct {
	// MinSize is required in a create; nil in an update leaves it as it is.
	MinSize *int `json:"min_size,omitempty"`
	// MaxSize is required in a create; nil in an update leaves it as it is.
	MaxSize *int `json:"max_size,omitempty"`
	// DesiredSize defaults to MinSize in a create; nil in an update leaves it to the cloud, which keeps it as it is
	// unless new bounds exclude that.
	DesiredSize *int `json:"desired_size,omitempty"`
}

// Upgrade says how all machines of a group give way to others, which they do when the instance type changes, and when
// they last did.
type Upgrade struct {
	// Strategy is one of the Strategy constants.
	Strategy string `json:"strategy"`
	// MaxUnavailable is how many machines may be away at a time, 1 to MaxSize. StrategyRecreate does not look at it.
	MaxUnavailable int `json:"max_unavailable"`
	// LastUpgradeAt is when the machines last gave way to others, in whole seconds. Nil if they never did.
	LastUpgradeAt *time.Time `json:"last_upgrade_at,omitempty"`
	// Version of the software of the machines: what the constant Version was when they were made.
	Version string `json:"version"`
}

// UpgradeInput says how machines shall give way to others.
type UpgradeInput struct {
	// Strategy is one of the Strategy constants. Default in a create: DefaultStrategy; nil in an update leaves it as it is.
	Strategy *string `json:"strategy,omitempty"`
	// MaxUnavailable is 1 to MaxSize. Default in a create: DefaultMaxUnavailable; nil in an update leaves it as it is.
	MaxUnavailable *int `json:"max_unavailable,omitempty"`
}

// Repair says what becomes of broken machines.
type Repair struct {
	// Enabled tells whether the cloud replaces them.
	Enabled bool `json:"enabled"`
}

// RepairInput says what shall become of broken machines.
type RepairInput struct {
	// Enabled tells whether the cloud replaces them. Default in a create: DefaultRepairEnabled; nil in an update leaves it
	// as it is.
	Enabled *bool `json:"enabled,omitempty"`
}

// CreateNodeGroupInput describes a new node group.
type CreateNodeGroupInput struct {
	// Name has 1 to 63 lower case letters, digits and hyphens, starts with a letter and does not end with a hyphen.
	Name string `json:"name"`
	// SubnetIDs are required: ids of one or more subnets of the project.
	SubnetIDs []string `json:"subnet_ids"`
	// ScalingConfig is required and has exactly one entry.
	ScalingConfig []ScalingConfigInput `json:"scaling_config"`
	// InstanceType has 1 to 63 lower case letters, digits, dots and hyphens. Default: DefaultInstanceType.
	InstanceType *string `json:"instance_type,omitempty"`
	// Upgrade says how machines give way to others. Default: that of its fields.
	Upgrade *UpgradeInput `json:"upgrade,omitempty"`
	// Repair says what becomes of broken machines. Default: that of its field.
	Repair *RepairInput `json:"repair,omitempty"`
	// Labels are kept and searched; the rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateNodeGroupInput describes a change. Fields that are nil stay as they are.
type UpdateNodeGroupInput struct {
	// ScalingConfig has exactly one entry, whose fields that are nil stay as they are.
	ScalingConfig *[]ScalingConfigInput `json:"scaling_config,omitempty"`
	// InstanceType replaces the present one. The machines give way to others, if it is another one.
	InstanceType *string `json:"instance_type,omitempty"`
	// Upgrade holds what changes of it: fields that are nil stay as they are.
	Upgrade *UpgradeInput `json:"upgrade,omitempty"`
	// Repair holds what changes of it: a field that is nil stays as it is.
	Repair *RepairInput `json:"repair,omitempty"`
	// Labels replace all present labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}

// AutoscaleInput is the JSON of a request to change the size at once, as the cloud's autoscaler would.
type AutoscaleInput struct {
	// DesiredSize is required, within the bounds of the group.
	DesiredSize *int `json:"desired_size"`
}

// NodeGroupList is the JSON of a list answer.
type NodeGroupList struct {
	// NodeGroups are ordered by name.
	NodeGroups []NodeGroup `json:"node_groups"`
}
