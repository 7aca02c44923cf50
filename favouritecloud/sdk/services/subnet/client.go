// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subnet is the client of the favourite cloud's subnet service. A subnet is a part of a network in one zone.
//
//	c := subnet.NewClient(client)
//	created, err := c.Create(ctx, subnet.CreateSubnetInput{NetworkID: "net-3f9a1c2b7d", CIDRBlock: "10.0.1.0/24"})
//	fmt.Println(created.ID, created.Zone) // chosen by the cloud
//
// As with networks, there are no idempotency keys: if the answer to a create was lost, labels find the subnet.
package subnet

import (
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the subnet service for one project. The cloud ignores idempotency keys. The error of Create has sdk.CodeInvalid
// when the network does not exist or does not contain the range of addresses, and sdk.CodeConflict when the range overlaps
// another subnet. The error of Delete has sdk.CodeConflict while node groups use the subnet.
type Client = sdk.Collection[Subnet, Subnet, CreateSubnetInput, UpdateSubnetInput]

// NewClient returns a client of the subnet service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Subnet, Subnet, CreateSubnetInput, UpdateSubnetInput](c, "subnets", "subnets")
}

// Zones returns the zones of the cloud.
func Zones() []string { return []string{"zone-a", "zone-b", "zone-c"} }

// Subnet is a subnet in an answer of the cloud.
type Subnet struct {
	// ID is chosen by the cloud, for example "sub-3f9a1c2b7d", and never reused.
	ID string `json:"id"`
	// NetworkID is the id of the subnet's network. It never changes.
	NetworkID string `json:"network_id"`
	// CIDRBlock is the range of addresses, for example "10.0.1.0/24". It never changes.
	CIDRBlock string `json:"cidr_block"`
	// Zone is one of Zones. It never changes.
	Zone string `json:"zone"`
	// Labels are those of the user; the cloud only searches them.
	Labels map[string]string `json:"labels,omitempty"`
	// Status is StatusCreating, StatusAvailable or StatusDeleting of package sdk.
	Status string `json:"status"`
	// CreatedAt is when the create request was accepted, in whole seconds.
	CreatedAt time.Time `json:"created_at"`
}

// CreateSubnetInput describes a new subnet.
type CreateSubnetInput struct {
	// NetworkID is required: the id of a network of the project.
	NetworkID string `json:"network_id"`
	// CIDRBlock is required: a range of addresses without host bits, inside that of the network and disjoint from those
	// of its other subnets.
	CIDRBlock string `json:"cidr_block"`
	// Zone is one of Zones. Default: chosen by the cloud.
	Zone *string `json:"zone,omitempty"`
	// Labels can be searched; their rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateSubnetInput describes a change. Fields that are nil do not change.
type UpdateSubnetInput struct {
	// Labels replace all current labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}
