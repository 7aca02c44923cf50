// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const networksPath = "networks"

// Client calls the network service on behalf of one project. It is safe for concurrent use.
type Client struct{ cloud *sdk.Client }

// NewClient returns a client of the network service.
func NewClient(c *sdk.Client) *Client { return &Client{cloud: c} }

// GetNetwork returns the network of that id. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetNetwork(ctx context.Context, id string) (*Network, error) {
	return sdk.Call[Network](ctx, c.cloud, sdk.Request{Method: http.MethodGet, Path: networkPath(id)})
}

// ListNetworks returns the networks that carry all of the given labels, ordered by id; no labels means all.
func (c *Client) ListNetworks(ctx context.Context, labels map[string]string) ([]Network, error) {
	req := sdk.Request{Method: http.MethodGet, Path: networksPath, Query: sdk.LabelQuery(labels)}
	list, err := sdk.Call[NetworkList](ctx, c.cloud, req)
	if err != nil {
		return nil, err
	}
	return list.Networks, nil
}

// CreateNetwork makes a network. An idempotency key is ignored: every call that reaches the cloud makes a network.
func (c *Client) CreateNetwork(ctx context.Context, in CreateNetworkInput, opts ...sdk.CallOption) (*Network, error) {
	return sdk.Call[Network](ctx, c.cloud, sdk.Request{Method: http.MethodPost, Path: networksPath, Body: in}, opts...)
}

// UpdateNetwork changes a network. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateNetwork(ctx context.Context, id string, in UpdateNetworkInput) (*Network, error) {
	return sdk.Call[Network](ctx, c.cloud, sdk.Request{Method: http.MethodPatch, Path: networkPath(id), Body: in})
}

// DeleteNetwork removes a network. The error satisfies sdk.IsConflict while it has subnets, and sdk.IsNotFound when
// there is no such network.
func (c *Client) DeleteNetwork(ctx context.Context, id string) error {
	_, err := c.cloud.Do(ctx, sdk.Request{Method: http.MethodDelete, Path: networkPath(id)}, nil)
	return err
}

func networkPath(id string) string { return networksPath + "/" + url.PathEscape(id) }
