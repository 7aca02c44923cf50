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
	ID        string            `json:"id"`               // chosen by the cloud, for example "sub-3f9a1c2b7d", and never reused
	NetworkID string            `json:"network_id"`       // the id of the subnet's network. It never changes.
	CIDRBlock string            `json:"cidr_block"`       // the range of addresses, which never changes
	Zone      string            `json:"zone"`             // one of Zones. It never changes.
	Labels    map[string]string `json:"labels,omitempty"` // those of the user; the cloud only searches them
	Status    string            `json:"status"`           // StatusCreating, StatusAvailable or StatusDeleting of package sdk
	CreatedAt time.Time         `json:"created_at"`       // when the create request was accepted, in whole seconds
}

// CreateSubnetInput describes a new subnet.
type CreateSubnetInput struct {
	NetworkID string            `json:"network_id"`       // required: the id of a network of the project
	CIDRBlock string            `json:"cidr_block"`       // required: inside that of the network, disjoint from other subnets
	Zone      *string           `json:"zone,omitempty"`   // one of Zones. Default: chosen by the cloud.
	Labels    map[string]string `json:"labels,omitempty"` // can be searched; their rules are those of database instances
}

// UpdateSubnetInput describes a change. Fields that are nil do not change.
type UpdateSubnetInput struct {
	Labels map[string]string `json:"labels,omitzero"` // replace all current labels; an empty map that is not nil removes them
}
