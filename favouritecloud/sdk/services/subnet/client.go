// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet

import (
	"context"
	"net/http"
	"net/url"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const subnetsPath = "subnets"

// Client calls the subnet service on behalf of one project. It is safe for concurrent use.
type Client struct{ cloud *sdk.Client }

// NewClient returns a client of the subnet service.
func NewClient(c *sdk.Client) *Client { return &Client{cloud: c} }

// GetSubnet returns the subnet of that id. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetSubnet(ctx context.Context, id string) (*Subnet, error) {
	return sdk.Call[Subnet](ctx, c.cloud, sdk.Request{Method: http.MethodGet, Path: subnetPath(id)})
}

// ListSubnets returns the subnets that carry all of the given labels, ordered by id; no labels means all.
func (c *Client) ListSubnets(ctx context.Context, labels map[string]string) ([]Subnet, error) {
	req := sdk.Request{Method: http.MethodGet, Path: subnetsPath, Query: sdk.LabelQuery(labels)}
	list, err := sdk.Call[SubnetList](ctx, c.cloud, req)
	if err != nil {
		return nil, err
	}
	return list.Subnets, nil
}

// CreateSubnet makes a subnet. An idempotency key is ignored. The error satisfies sdk.IsInvalid when the network does
// not exist or does not hold the range of addresses, and sdk.IsConflict when another subnet has a part of that range.
func (c *Client) CreateSubnet(ctx context.Context, in CreateSubnetInput, opts ...sdk.CallOption) (*Subnet, error) {
	return sdk.Call[Subnet](ctx, c.cloud, sdk.Request{Method: http.MethodPost, Path: subnetsPath, Body: in}, opts...)
}

// UpdateSubnet changes a subnet. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) UpdateSubnet(ctx context.Context, id string, in UpdateSubnetInput) (*Subnet, error) {
	return sdk.Call[Subnet](ctx, c.cloud, sdk.Request{Method: http.MethodPatch, Path: subnetPath(id), Body: in})
}

// DeleteSubnet removes a subnet. The error satisfies sdk.IsConflict while node groups use it, and sdk.IsNotFound when
// there is no such subnet.
func (c *Client) DeleteSubnet(ctx context.Context, id string) error {
	_, err := c.cloud.Do(ctx, sdk.Request{Method: http.MethodDelete, Path: subnetPath(id)}, nil)
	return err
}

func subnetPath(id string) string { return subnetsPath + "/" + url.PathEscape(id) }
