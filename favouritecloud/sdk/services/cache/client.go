// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const instancesPath = "cache/instances"

// Client calls the cache service on behalf of one project. It is safe for concurrent use.
type Client struct{ cloud *sdk.Client }

// NewClient returns a client of the cache service.
func NewClient(c *sdk.Client) *Client { return &Client{cloud: c} }

// GetInstance returns the instance of that name. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetInstance(ctx context.Context, name string) (*Instance, error) {
	return sdk.Call[Instance](ctx, c.cloud, sdk.Request{Method: http.MethodGet, Path: instancePath(name)})
}

// ListInstances returns the instances that carry all of the given labels, ordered by name; no labels means all.
func (c *Client) ListInstances(ctx context.Context, labels map[string]string) ([]Instance, error) {
	req := sdk.Request{Method: http.MethodGet, Path: instancesPath, Query: sdk.LabelQuery(labels)}
	list, err := sdk.Call[InstanceList](ctx, c.cloud, req)
	if err != nil {
		return nil, err
	}
	return list.Instances, nil
}

// CreateInstance asks for a new instance and returns before it is online. The answer is the only one that ever holds
// the password; with sdk.WithIdempotencyKey a lost answer can be asked for again. The error satisfies sdk.IsExists
// when the name is taken.
func (c *Client) CreateInstance(ctx context.Context, in CreateInstanceInput, opts ...sdk.CallOption) (*CreatedInstance, error) {
	created := &CreatedInstance{}
	req := sdk.Request{Method: http.MethodPost, Path: instancesPath, Body: in}
	answer, err := c.cloud.Do(ctx, req, created, opts...)
	if err != nil {
		return nil, err
	}
	created.Replayed = answer.Replayed
	return created, nil
}

// UpdateInstance changes an instance and returns before the change is applied.
func (c *Client) UpdateInstance(ctx context.Context, name string, in UpdateInstanceInput) (*Instance, error) {
	return sdk.Call[Instance](ctx, c.cloud, sdk.Request{Method: http.MethodPatch, Path: instancePath(name), Body: in})
}

// DeleteInstance asks to remove an instance and its data, and returns before that is done: GetInstance reports
// StatusDeleting until the instance is not found. Repeating it is harmless. The error satisfies sdk.IsNotFound when
// there is no such instance.
func (c *Client) DeleteInstance(ctx context.Context, name string) error {
	_, err := c.cloud.Do(ctx, sdk.Request{Method: http.MethodDelete, Path: instancePath(name)}, nil)
	return err
}

func instancePath(name string) string { return instancesPath + "/" + url.PathEscape(name) }

// URL returns the connection string of the instance for Redis clients. It holds the password.
func (i *Instance) URL(password string) string {
	u := url.URL{
		Scheme: "redis",
		User:   url.UserPassword(i.Username, password),
		Host:   net.JoinHostPort(i.Hostname, strconv.Itoa(i.Port)),
	}
	return u.String()
}
