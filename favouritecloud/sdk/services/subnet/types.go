// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet

import "time"

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
