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
	return c.Invoke(ctx, name, sdk.VerbAutoscale, AutoscaleInput{DesiredSize: &desiredSize})
}

// Strategies of an upgrade.
const (
	StrategyRolling  = "ROLLING"  // machines are replaced in batches of at most MaxUnavailable
	StrategyRecreate = "RECREATE" // all machines are replaced at once
)

const (
	DefaultInstanceType   = "small"         // the instance type of a group that requests none
	DefaultStrategy       = StrategyRolling // the strategy of a group that requests none
	DefaultMaxUnavailable = 1               // the MaxUnavailable of a group that requests none
	DefaultRepairEnabled  = true            // whether the machines of a group that does not specify it are repaired
	Version               = "2026.1"        // the software version of new machines
	// AutoscaleLabel, with the value "true", enables autoscaling: the cloud changes the desired size of the group.
	AutoscaleLabel = "autoscale"
	MaxSize        = 1000 // the largest size of a group
)

// NodeGroup is a node group in an answer of the cloud.
type NodeGroup struct {
	Name          string          `json:"name"`              // unique in the project
	SubnetIDs     []string        `json:"subnet_ids"`        // the subnets of the machines. They never change.
	ScalingConfig []ScalingConfig `json:"scaling_config"`    // has exactly one entry
	InstanceType  string          `json:"instance_type"`     // the type of the machines
	Upgrade       *Upgrade        `json:"upgrade,omitempty"` // nil for a group of an older cloud that was never updated
	Repair        *Repair         `json:"repair,omitempty"`  // nil when Upgrade is
	// Labels are those of the user; the cloud uses AutoscaleLabel.
	Labels    map[string]string `json:"labels,omitempty"`
	Status    string            `json:"status"`     // StatusCreating, StatusAvailable or StatusDeleting of package sdk
	CreatedAt time.Time         `json:"created_at"` // when the create request was accepted, in whole seconds
}

// ScalingConfig is the number of machines.
type ScalingConfig struct {
	MinSize     int `json:"min_size"`     // the smallest size, at least 0
	MaxSize     int `json:"max_size"`     // the largest size, 1 to the constant MaxSize
	DesiredSize int `json:"desired_size"` // the current size, MinSize to MaxSize
}

// ScalingConfigInput is the desired number of machines.
type ScalingConfigInput struct {
	MinSize *int `json:"min_size,omitempty"` // required in a create; nil in an update does not change it
	MaxSize *int `json:"max_size,omitempty"` // required in a create; nil in an update does not change it
	// DesiredSize defaults to MinSize in a create; nil in an update changes it only to keep it within new bounds.
	DesiredSize *int `json:"desired_size,omitempty"`
}

// Upgrade describes how all machines of a group are replaced, which happens when the instance type changes, and the last time.
type Upgrade struct {
	Strategy string `json:"strategy"` // one of the Strategy constants
	// MaxUnavailable is how many machines may be unavailable at a time, 1 to MaxSize. StrategyRecreate ignores it.
	MaxUnavailable int `json:"max_unavailable"`
	// LastUpgradeAt is when the machines were last replaced, in whole seconds. Nil if they never were.
	LastUpgradeAt *time.Time `json:"last_upgrade_at,omitempty"`
	// Version is the software version of the machines: the constant Version at the time of their creation.
	Version string `json:"version"`
}

// UpgradeInput describes how machines are to be replaced.
type UpgradeInput struct {
	// Strategy defaults to DefaultStrategy in a create; nil in an update does not change it.
	Strategy       *string `json:"strategy,omitempty"`
	MaxUnavailable *int    `json:"max_unavailable,omitempty"` // 1 to MaxSize, in a create DefaultMaxUnavailable by default
}

// Repair describes how broken machines are handled.
type Repair struct {
	Enabled bool `json:"enabled"` // whether the cloud replaces them
}

// RepairInput describes how broken machines are to be handled.
type RepairInput struct {
	// Enabled defaults to DefaultRepairEnabled in a create; nil in an update does not change it.
	Enabled *bool `json:"enabled,omitempty"`
}

// CreateNodeGroupInput describes a new node group.
type CreateNodeGroupInput struct {
	Name          string               `json:"name"`           // an RFC 1035 label of 1 to 63 characters
	SubnetIDs     []string             `json:"subnet_ids"`     // required: ids of one or more subnets of the project
	ScalingConfig []ScalingConfigInput `json:"scaling_config"` // required and has exactly one entry
	// InstanceType has 1 to 63 of a-z, 0-9, dot and hyphen. Default: DefaultInstanceType.
	InstanceType *string       `json:"instance_type,omitempty"`
	Upgrade      *UpgradeInput `json:"upgrade,omitempty"` // describes how machines are replaced. Default: those of its fields.
	// Repair describes how broken machines are handled.
	Repair *RepairInput      `json:"repair,omitempty"`
	Labels map[string]string `json:"labels,omitempty"` // can be searched; their rules are those of database instances
}

// UpdateNodeGroupInput describes a change. Fields that are nil do not change.
type UpdateNodeGroupInput struct {
	// ScalingConfig has exactly one entry, whose nil fields do not change.
	ScalingConfig *[]ScalingConfigInput `json:"scaling_config,omitempty"`
	InstanceType  *string               `json:"instance_type,omitempty"` // replaces all machines if it differs
	Upgrade       *UpgradeInput         `json:"upgrade,omitempty"`       // changes its fields that are not nil
	Repair        *RepairInput          `json:"repair,omitempty"`        // changes its field if that is not nil
	Labels        map[string]string     `json:"labels,omitzero"`         // replace all current ones; an empty map removes them
}

// AutoscaleInput is the JSON of a request to set the desired size as the autoscaler of the cloud does.
type AutoscaleInput struct {
	DesiredSize *int `json:"desired_size"` // required, within the bounds of the group
}
