// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the node group service for one project. It is safe for concurrent use.
type Client struct{ objects sdk.Collection[NodeGroup] }

// NewClient returns a client of the node group service.
func NewClient(c *sdk.Client) *Client {
	return &Client{sdk.NewCollection[NodeGroup](c, "node-groups", "node_groups")}
}

// GetNodeGroup returns a node group. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetNodeGroup(ctx context.Context, name string) (*NodeGroup, error) {
	return c.objects.Get(ctx, name)
}

// ListNodeGroups returns the node groups that have all of the labels, ordered by name; no labels select all node groups.
func (c *Client) ListNodeGroups(ctx context.Context, labels map[string]string) ([]NodeGroup, error) {
	return c.objects.List(ctx, labels)
}

// CreateNodeGroup creates a node group. With sdk.WithIdempotencyKey, a repeated request gets the answer of the first one as long as
// the group exists. The error satisfies sdk.IsExists when the name is taken, and sdk.IsInvalid when a subnet does not exist.
func (c *Client) CreateNodeGroup(ctx context.Context, in CreateNodeGroupInput, opts ...sdk.CallOption) (*NodeGroup, error) {
	created := &NodeGroup{}
	if _, err := c.objects.Create(ctx, in, created, opts...); err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateNodeGroup changes a node group. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateNodeGroup(ctx context.Context, name string, in UpdateNodeGroupInput) (*NodeGroup, error) {
	return c.objects.Update(ctx, name, in)
}

// AutoscaleNodeGroup sets the desired size as the autoscaler of the cloud does, for tests and demonstrations.
func (c *Client) AutoscaleNodeGroup(ctx context.Context, name string, desiredSize int) (*NodeGroup, error) {
	return c.objects.Invoke(ctx, name, "autoscale", AutoscaleInput{DesiredSize: &desiredSize})
}

// DeleteNodeGroup deletes a node group. The error satisfies sdk.IsNotFound when there is no such group.
func (c *Client) DeleteNodeGroup(ctx context.Context, name string) error {
	return c.objects.Delete(ctx, name)
}
