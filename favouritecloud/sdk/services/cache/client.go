// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"net"
	"net/url"
	"strconv"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the cache service for one project. Create and Update return before the server has the desired state: StatusOnline shows
// that it has. Only the answer to Create contains the password; if it may have been lost, repeat the request with the same
// sdk.WithIdempotencyKey. Delete starts the deletion of the instance and its data, and can be repeated: Get returns StatusDeleting
// until the instance is not found.
type Client = sdk.Collection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput]

// NewClient returns a client of the cache service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput](c, "cache/instances", "instances")
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
