// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the network service for one project. The cloud ignores idempotency keys: every Create creates another network. The
// error of Delete satisfies sdk.IsConflict while the network has subnets.
type Client = sdk.Collection[Network, Network, CreateNetworkInput, UpdateNetworkInput]

// NewClient returns a client of the network service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Network, Network, CreateNetworkInput, UpdateNetworkInput](c, "networks", "networks")
}
