// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is the client of the favourite cloud's network service, which chooses the ids of networks.
//
//	c := network.NewClient(client)
//	created, err := c.Create(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: labels})
//	network, err := c.Get(ctx, created.ID)
//
// The service has no idempotency keys: if the answer to a create was lost, only List with labels finds the network and its
// id. Package subnet divides a network.
package network

import (
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the network service for one project. The cloud ignores idempotency keys: every Create creates another network. The
// error of Delete has sdk.CodeConflict while the network has subnets.
type Client = sdk.Collection[Network, Network, CreateNetworkInput, UpdateNetworkInput]

// NewClient returns a client of the network service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Network, Network, CreateNetworkInput, UpdateNetworkInput](c, "networks", "networks")
}

// Bounds of MTU, in bytes.
const (
	// MinMTU is the smallest MTU.
	MinMTU = 576
	// MaxMTU is the largest MTU.
	MaxMTU = 9216
	// DefaultMTU is the MTU of a network that requests none.
	DefaultMTU = 1500
)

// Network is a network in an answer of the cloud.
type Network struct {
	// ID is chosen by the cloud, for example "net-3f9a1c2b7d", and never reused.
	ID string `json:"id"`
	// CIDRBlock is the range of addresses, for example "10.0.0.0/16". It never changes.
	CIDRBlock string `json:"cidr_block"`
	// Description is that of the user.
	Description string `json:"description,omitempty"`
	// DNSServers are addresses of name servers, in the order of the request.
	DNSServers []string `json:"dns_servers,omitempty"`
	// MTU is the largest packet, in bytes.
	MTU int `json:"mtu"`
	// Labels are those of the user; the cloud only searches them.
	Labels map[string]string `json:"labels,omitempty"`
	// Status is StatusCreating, StatusAvailable or StatusDeleting of package sdk.
	Status string `json:"status"`
	// CreatedAt is when the create request was accepted, in whole seconds.
	CreatedAt time.Time `json:"created_at"`
}

// CreateNetworkInput describes a new network.
type CreateNetworkInput struct {
	// CIDRBlock is required: a range of addresses without host bits, for example "10.0.0.0/16". Networks may overlap.
	CIDRBlock string `json:"cidr_block"`
	// Description has at most 256 printable characters. Default: none.
	Description *string `json:"description,omitempty"`
	// DNSServers are at most 8 IP addresses. Default: none.
	DNSServers []string `json:"dns_servers,omitempty"`
	// MTU is MinMTU to MaxMTU. Default: DefaultMTU.
	MTU *int `json:"mtu,omitempty"`
	// Labels can be searched; their rules are those of database instances.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateNetworkInput describes a change. Fields that are nil do not change.
type UpdateNetworkInput struct {
	// Description replaces the current one; the empty string removes it.
	Description *string `json:"description,omitempty"`
	// DNSServers replace the current ones; an empty list removes them.
	DNSServers *[]string `json:"dns_servers,omitempty"`
	// MTU replaces the current one.
	MTU *int `json:"mtu,omitempty"`
	// Labels replace all current labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}
