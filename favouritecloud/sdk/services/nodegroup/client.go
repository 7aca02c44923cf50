// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup is the client of the favourite cloud's node group service: groups of machines of changing size.
//
//	c := nodegroup.NewClient(client)
//	size := []nodegroup.ScalingConfigInput{{MinSize: new(1), MaxSize: new(5)}}
//	group, err := c.Create(ctx, nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: ids, ScalingConfig: size})
//
// The cloud changes the desired size of groups with the label autoscale=true, so clients that declare a size have to decide which
// of them owns that field. There are no real machines.
package nodegroup

import (
	"context"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the node group service for one project. With sdk.WithIdempotencyKey, a repeated Create gets the answer of the
// first one as long as the group exists. The error of Create has sdk.CodeInvalid when a subnet does not exist.
type Client struct {
	*sdk.Collection[NodeGroup, NodeGroup, CreateNodeGroupInput, UpdateNodeGroupInput]
}

// NewClient returns a client of the node group service.
func NewClient(c *sdk.Client) *Client {
	const path, field = "node-groups", "node_groups"
	return &Client{sdk.NewCollection[NodeGroup, NodeGroup, CreateNodeGroupInput, UpdateNodeGroupInput](c, path, field)}
}

// Autoscale sets the desired size as the autoscaler of the cloud does, for tests and demonstrations.
func (c *Client) Autoscale(ctx context.Context, name string, desiredSize int) (*NodeGroup, error) {
	return c.Invoke(ctx, name, "autoscale", AutoscaleInput{DesiredSize: &desiredSize})
}

// Strategies of an upgrade.
const (
	// StrategyRolling: machines are replaced in batches of at most MaxUnavailable.
	StrategyRolling = "ROLLING"
	// StrategyRecreate: all machines are replaced at once.
	StrategyRecreate = "RECREATE"
)

const (
	// DefaultInstanceType is the instance type of a group that requests none.
	DefaultInstanceType = "small"
	// DefaultStrategy is the strategy of a group that requests none.
	DefaultStrategy = StrategyRolling
	// DefaultMaxUnavailable is the MaxUnavailable of a group that requests none.
	DefaultMaxUnavailable = 1
	// DefaultRepairEnabled is whether the machines of a group that does not specify it are repaired.
	DefaultRepairEnabled = true
	// Version is the software version of new machines.
	Version = "2026.1"
	// AutoscaleLabel, with the value "true", enables autoscaling: the cloud changes the desired size of the group.
	AutoscaleLabel = "autoscale"
	// MaxSize is the largest size of a group.
	MaxSize = 1000
)

// NodeGroup is a node group in an answer of the cloud.
type NodeGroup struct {
	// Name is unique in the project.
	Name string `json:"name"`
	// SubnetIDs are the subnets of the machines. They never change.
	SubnetIDs []string `json:"subnet_ids"`
	// ScalingConfig has exactly one entry.
	ScalingConfig []ScalingConfig `json:"scaling_config"`
	// InstanceType is the type of the machines.
	InstanceType string `json:"instance_type"`
	// Upgrade is nil for a group of an older cloud that was never updated.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Repair is nil when Upgrade is.
	Repair *Repair `json:"repair,omitempty"`
	// Labels are those of the user. The cloud searches them and uses AutoscaleLabel.
	Labels map[string]string `json:"labels,omitempty"`
	// Status is StatusCreating, StatusAvailable or StatusDeleting of package sdk.
	Status string `json:"status"`
	// CreatedAt is when the create request was accepted, in whole seconds.
	CreatedAt time.Time `json:"created_at"`
}

// ScalingConfig is the number of machines.
type ScalingConfig struct {
	// MinSize is the smallest size, at least 0.
	MinSize int `json:"min_size"`
	// MaxSize is the largest size, 1 to the constant MaxSize.
	MaxSize int `json:"max_size"`
	// DesiredSize is the current size, MinSize to MaxSize.
	DesiredSize int `json:"desired_size"`
}

// ScalingConfigInput is the desired number of machines.
type ScalingConfigInput struct {
	// MinSize is required in a create; nil in an update does not change it.
	MinSize *int `json:"min_size,omitempty"`
	// MaxSize is required in a create; nil in an update does not change it.
	MaxSize *int `json:"max_size,omitempty"`
	// DesiredSize defaults to MinSize in a create; nil in an update changes it only to keep it within new bounds.
	DesiredSize *int `json:"desired_size,omitempty"`
}

// Upgrade describes how all machines of a group are replaced, which happens when the instance type changes, and the last time.
type Upgrade struct {
	// Strategy is one of the Strategy constants.
	Strategy string `json:"strategy"`
	// MaxUnavailable is how many machines may be unavailable at a time, 1 to MaxSize. StrategyRecreate ignores it.
	MaxUnavailable int `json:"max_unavailable"`
	// LastUpgradeAt is when the machines were last replaced, in whole seconds. Nil if they never were.
	LastUpgradeAt *time.Time `json:"last_upgrade_at,omitempty"`
	// Version is the software version of the machines: the constant Version at the time of their creation.
	Version string `json:"version"`
}

// UpgradeInput describes how machines are to be replaced.
type UpgradeInput struct {
	// Strategy is one of the Strategy constants. Default in a create: DefaultStrategy; nil in an update does not change it.
	Strategy *string `json:"strategy,omitempty"`
	// MaxUnavailable is 1 to MaxSize. Default in a create: DefaultMaxUnavailable; nil in an update does not change it.
	MaxUnavailable *int `json:"max_unavailable,omitempty"`
}

// Repair describes how broken machines are handled.
type Repair struct {
	// Enabled is whether the cloud replaces them.
	Enabled bool `json:"enabled"`
}

// RepairInput describes how broken machines are to be handled.
type RepairInput struct {
	// Enabled is whether the cloud replaces them. Default in a create: DefaultRepairEnabled; nil in an update does not change it.
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
	// Upgrade describes how machines are replaced. Default: those of its fields.
	Upgrade *UpgradeInput `json:"upgrade,omitempty"`
	// Repair describes how broken machines are handled. Default: that of its field.
	Repair *RepairInput `json:"repair,omitempty"`
	// Labels can be searched; their rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateNodeGroupInput describes a change. Fields that are nil do not change.
type UpdateNodeGroupInput struct {
	// ScalingConfig has exactly one entry, whose nil fields do not change.
	ScalingConfig *[]ScalingConfigInput `json:"scaling_config,omitempty"`
	// InstanceType replaces the current one. If it differs, all machines are replaced.
	InstanceType *string `json:"instance_type,omitempty"`
	// Upgrade changes its fields that are not nil.
	Upgrade *UpgradeInput `json:"upgrade,omitempty"`
	// Repair changes its field if that is not nil.
	Repair *RepairInput `json:"repair,omitempty"`
	// Labels replace all current labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}

// AutoscaleInput is the JSON of a request to set the desired size as the autoscaler of the cloud does.
type AutoscaleInput struct {
	// DesiredSize is required, within the bounds of the group.
	DesiredSize *int `json:"desired_size"`
}
