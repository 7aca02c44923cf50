// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the node group service for one project. With sdk.WithIdempotencyKey, a repeated Create gets the answer of the first one
// as long as the group exists. The error of Create satisfies sdk.IsInvalid when a subnet does not exist.
type Client struct {
	*sdk.Collection[NodeGroup, NodeGroup, CreateNodeGroupInput, UpdateNodeGroupInput]
}

// NewClient returns a client of the node group service.
func NewClient(c *sdk.Client) *Client {
	return &Client{sdk.NewCollection[NodeGroup, NodeGroup, CreateNodeGroupInput, UpdateNodeGroupInput](c, "node-groups", "node_groups")}
}

// Autoscale sets the desired size as the autoscaler of the cloud does, for tests and demonstrations.
func (c *Client) Autoscale(ctx context.Context, name string, desiredSize int) (*NodeGroup, error) {
	return c.Invoke(ctx, name, "autoscale", AutoscaleInput{DesiredSize: &desiredSize})
}
