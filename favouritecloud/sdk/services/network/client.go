// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the network service for one project. It is safe for concurrent use.
type Client struct{ objects sdk.Collection[Network] }

// NewClient returns a client of the network service.
func NewClient(c *sdk.Client) *Client {
	return &Client{sdk.NewCollection[Network](c, "networks", "networks")}
}

// GetNetwork returns a network. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetNetwork(ctx context.Context, id string) (*Network, error) {
	return c.objects.Get(ctx, id)
}

// ListNetworks returns the networks that have all of the labels, ordered by id; no labels select all networks.
func (c *Client) ListNetworks(ctx context.Context, labels map[string]string) ([]Network, error) {
	return c.objects.List(ctx, labels)
}

// CreateNetwork creates a network. The cloud ignores idempotency keys: every request creates another network.
func (c *Client) CreateNetwork(ctx context.Context, in CreateNetworkInput, opts ...sdk.CallOption) (*Network, error) {
	created := &Network{}
	if _, err := c.objects.Create(ctx, in, created, opts...); err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateNetwork changes a network. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateNetwork(ctx context.Context, id string, in UpdateNetworkInput) (*Network, error) {
	return c.objects.Update(ctx, id, in)
}

// DeleteNetwork deletes a network. The error satisfies sdk.IsConflict while it has subnets, and sdk.IsNotFound when there is no such
// network.
func (c *Client) DeleteNetwork(ctx context.Context, id string) error {
	return c.objects.Delete(ctx, id)
}
