// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const groupsPath = "node-groups"

// Client calls the node group service on behalf of one project. It is safe for concurrent use.
type Client struct{ cloud *sdk.Client }

// NewClient returns a client of the node group service.
func NewClient(c *sdk.Client) *Client { return &Client{cloud: c} }

// GetNodeGroup returns the node group of that name. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetNodeGroup(ctx context.Context, name string) (*NodeGroup, error) {
	return sdk.Call[NodeGroup](ctx, c.cloud, sdk.Request{Method: http.MethodGet, Path: groupPath(name)})
}

// ListNodeGroups returns the node groups that carry all of the given labels, ordered by name; no labels means all.
func (c *Client) ListNodeGroups(ctx context.Context, labels map[string]string) ([]NodeGroup, error) {
	req := sdk.Request{Method: http.MethodGet, Path: groupsPath, Query: sdk.LabelQuery(labels)}
	list, err := sdk.Call[NodeGroupList](ctx, c.cloud, req)
	if err != nil {
		return nil, err
	}
	return list.NodeGroups, nil
}

// CreateNodeGroup makes a node group. With sdk.WithIdempotencyKey a repeat is answered as the first request was, for as
// long as the group exists. The error satisfies sdk.IsExists when the name is taken, and sdk.IsInvalid when a subnet
// does not exist.
func (c *Client) CreateNodeGroup(ctx context.Context, in CreateNodeGroupInput, opts ...sdk.CallOption) (*NodeGroup, error) {
	return sdk.Call[NodeGroup](ctx, c.cloud, sdk.Request{Method: http.MethodPost, Path: groupsPath, Body: in}, opts...)
}

// UpdateNodeGroup changes a node group. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateNodeGroup(ctx context.Context, name string, in UpdateNodeGroupInput) (*NodeGroup, error) {
	return sdk.Call[NodeGroup](ctx, c.cloud, sdk.Request{Method: http.MethodPatch, Path: groupPath(name), Body: in})
}

// AutoscaleNodeGroup sets the desired size as the cloud's own autoscaler would, for tests and demonstrations. Unlike
// UpdateNodeGroup it is not the owner's wish.
func (c *Client) AutoscaleNodeGroup(ctx context.Context, name string, desiredSize int) (*NodeGroup, error) {
	req := sdk.Request{Method: http.MethodPost, Path: groupPath(name) + ":autoscale", Body: AutoscaleInput{DesiredSize: &desiredSize}}
	return sdk.Call[NodeGroup](ctx, c.cloud, req)
}

// DeleteNodeGroup removes a node group. The error satisfies sdk.IsNotFound when there is no such group.
func (c *Client) DeleteNodeGroup(ctx context.Context, name string) error {
	_, err := c.cloud.Do(ctx, sdk.Request{Method: http.MethodDelete, Path: groupPath(name)}, nil)
	return err
}

func groupPath(name string) string { return groupsPath + "/" + url.PathEscape(name) }
