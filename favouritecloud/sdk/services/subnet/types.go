// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet

import "time"

// States of a subnet.
const (
	// StatusCreating: the subnet is being made.
	StatusCreating = "CREATING"
	// StatusAvailable: the subnet can be used.
	StatusAvailable = "AVAILABLE"
	// StatusDeleting: the subnet is being removed.
	StatusDeleting = "DELETING"
)

// Zones returns the zones of the cloud.
func Zones() []string { return []string{"zone-a", "zone-b", "zone-c"} }

// Subnet is a subnet as the cloud sees it.
type Subnet struct {
	// ID is made by the cloud, for example "sub-3f9a1c2b7d", and never used again.
	ID string `json:"id"`
	// NetworkID is the id of the network that the subnet is a part of. It never changes.
	NetworkID string `json:"network_id"`
	// CIDRBlock is the range of addresses, for example "10.0.1.0/24". It never changes.
	CIDRBlock string `json:"cidr_block"`
	// Zone is one of Zones. It never changes.
	Zone string `json:"zone"`
	// Labels are the caller's; the cloud only searches them.
	Labels map[string]string `json:"labels,omitempty"`
	// Status is one of the Status constants.
	Status string `json:"status"`
	// CreatedAt is when the create request was accepted, in whole seconds.
	CreatedAt time.Time `json:"created_at"`
}

// CreateSubnetInput describes a new subnet.
type CreateSubnetInput struct {
	// NetworkID is required: the id of a network of the project.
	NetworkID string `json:"network_id"`
	// CIDRBlock is required: a range of addresses without host bits, inside the network's and apart from those of the
	// network's other subnets.
	CIDRBlock string `json:"cidr_block"`
	// Zone is one of Zones. Default: the cloud's choice.
	Zone *string `json:"zone,omitempty"`
	// Labels are kept and searched; the rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateSubnetInput describes a change. Fields that are nil stay as they are.
type UpdateSubnetInput struct {
	// Labels replace all present labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}

// SubnetList is the JSON of a list answer.
type SubnetList struct {
	// Subnets are ordered by id.
	Subnets []Subnet `json:"subnets"`
}
