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
	MinMTU     = 576  // the smallest MTU
	MaxMTU     = 9216 // the largest MTU
	DefaultMTU = 1500 // the MTU of a network that requests none
)

// Network is a network in an answer of the cloud.
type Network struct {
	ID string `json:"id"` // chosen by the cloud, for example "net-3f9a1c2b7d", and never reused
	// CIDRBlock is the range of addresses, which never changes.
	CIDRBlock   string            `json:"cidr_block"`
	Description string            `json:"description,omitempty"` // that of the user
	DNSServers  []string          `json:"dns_servers,omitempty"` // addresses of name servers, in the order of the request
	MTU         int               `json:"mtu"`                   // the largest packet, in bytes
	Labels      map[string]string `json:"labels,omitempty"`      // those of the user; the cloud only searches them
	Status      string            `json:"status"`                // StatusCreating, StatusAvailable or StatusDeleting
	CreatedAt   time.Time         `json:"created_at"`            // when the create request was accepted, in whole seconds
}

// CreateNetworkInput describes a new network.
type CreateNetworkInput struct {
	CIDRBlock   string            `json:"cidr_block"`            // required and has no host bits. Networks may overlap.
	Description *string           `json:"description,omitempty"` // has at most 256 printable characters. Default: none.
	DNSServers  []string          `json:"dns_servers,omitempty"` // at most 8 IP addresses. Default: none.
	MTU         *int              `json:"mtu,omitempty"`         // MinMTU to MaxMTU. Default: DefaultMTU.
	Labels      map[string]string `json:"labels,omitempty"`      // can be searched; their rules are those of database instances
}

// UpdateNetworkInput describes a change. Fields that are nil do not change.
type UpdateNetworkInput struct {
	Description *string   `json:"description,omitempty"` // replaces the current one; the empty string removes it
	DNSServers  *[]string `json:"dns_servers,omitempty"` // replace the current ones; an empty list removes them
	MTU         *int      `json:"mtu,omitempty"`         // replaces the current one
	// Labels replace all current labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}
