// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet

import (
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the subnet service for one project. The cloud ignores idempotency keys. The error of Create satisfies sdk.IsInvalid
// when the network does not exist or does not contain the range of addresses, and sdk.IsConflict when the range overlaps another
// subnet. The error of Delete satisfies sdk.IsConflict while node groups use the subnet.
type Client = sdk.Collection[Subnet, Subnet, CreateSubnetInput, UpdateSubnetInput]

// NewClient returns a client of the subnet service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Subnet, Subnet, CreateSubnetInput, UpdateSubnetInput](c, "subnets", "subnets")
}
