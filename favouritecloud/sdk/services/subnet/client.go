// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the subnet service for one project. It is safe for concurrent use.
type Client struct{ objects sdk.Collection[Subnet] }

// NewClient returns a client of the subnet service.
func NewClient(c *sdk.Client) *Client {
	return &Client{sdk.NewCollection[Subnet](c, "subnets", "subnets")}
}

// GetSubnet returns a subnet. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetSubnet(ctx context.Context, id string) (*Subnet, error) {
	return c.objects.Get(ctx, id)
}

// ListSubnets returns the subnets that have all of the labels, ordered by id; no labels select all subnets.
func (c *Client) ListSubnets(ctx context.Context, labels map[string]string) ([]Subnet, error) {
	return c.objects.List(ctx, labels)
}

// CreateSubnet creates a subnet. The cloud ignores idempotency keys. The error satisfies sdk.IsInvalid when the network does not exist
// or does not contain the range of addresses, and sdk.IsConflict when the range overlaps another subnet.
func (c *Client) CreateSubnet(ctx context.Context, in CreateSubnetInput, opts ...sdk.CallOption) (*Subnet, error) {
	created := &Subnet{}
	if _, err := c.objects.Create(ctx, in, created, opts...); err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateSubnet changes a subnet. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateSubnet(ctx context.Context, id string, in UpdateSubnetInput) (*Subnet, error) {
	return c.objects.Update(ctx, id, in)
}

// DeleteSubnet deletes a subnet. The error satisfies sdk.IsConflict while node groups use it, and sdk.IsNotFound when there is no such
// subnet.
func (c *Client) DeleteSubnet(ctx context.Context, id string) error {
	return c.objects.Delete(ctx, id)
}
