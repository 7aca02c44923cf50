// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"net"
	"net/url"
	"strconv"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the cache service for one project. It is safe for concurrent use.
type Client struct{ instances sdk.Collection[Instance] }

// NewClient returns a client of the cache service.
func NewClient(c *sdk.Client) *Client {
	return &Client{sdk.NewCollection[Instance](c, "cache/instances", "instances")}
}

// GetInstance returns an instance. The error satisfies sdk.IsNotFound when there is none.
func (c *Client) GetInstance(ctx context.Context, name string) (*Instance, error) {
	return c.instances.Get(ctx, name)
}

// ListInstances returns the instances that have all of the labels, ordered by name; no labels select all instances.
func (c *Client) ListInstances(ctx context.Context, labels map[string]string) ([]Instance, error) {
	return c.instances.List(ctx, labels)
}

// CreateInstance requests a new instance and returns before it is online. Only this answer contains the password; if it may have
// been lost, repeat the request with the same sdk.WithIdempotencyKey. The error satisfies sdk.IsExists when the name is taken.
func (c *Client) CreateInstance(ctx context.Context, in CreateInstanceInput, opts ...sdk.CallOption) (*CreatedInstance, error) {
	created := &CreatedInstance{}
	answer, err := c.instances.Create(ctx, in, created, opts...)
	if err != nil {
		return nil, err
	}
	created.Replayed = answer.Replayed
	return created, nil
}

// UpdateInstance changes an instance and returns before the change is applied.
func (c *Client) UpdateInstance(ctx context.Context, name string, in UpdateInstanceInput) (*Instance, error) {
	return c.instances.Update(ctx, name, in)
}

// DeleteInstance requests the deletion of an instance and its data, and returns before that is done: GetInstance returns
// StatusDeleting until the instance is not found. It can be repeated. The error satisfies sdk.IsNotFound when there is no such
// instance.
func (c *Client) DeleteInstance(ctx context.Context, name string) error {
	return c.instances.Delete(ctx, name)
}

// URL returns the connection string of the instance for Redis clients. It contains the password.
func (i *Instance) URL(password string) string {
	u := url.URL{
		Scheme: "redis",
		User:   url.UserPassword(i.Username, password),
		Host:   net.JoinHostPort(i.Hostname, strconv.Itoa(i.Port)),
	}
	return u.String()
}
