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

const (
	// DefaultInstanceType is the instance type of a group for which none was asked.
	DefaultInstanceType = "small"
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
	// Labels are kept and searched; the rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateNodeGroupInput describes a change. Fields that are nil stay as they are.
type UpdateNodeGroupInput struct {
	// ScalingConfig has exactly one entry, whose fields that are nil stay as they are.
	ScalingConfig *[]ScalingConfigInput `json:"scaling_config,omitempty"`
	// InstanceType replaces the present one.
	InstanceType *string `json:"instance_type,omitempty"`
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
