// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the client of the favourite cloud's database service, whose instances are PostgreSQL servers.
//
//	c := database.NewClient(client)
//	created, err := c.Create(ctx, database.CreateInstanceInput{Name: "orders", FancinessLevel: 100})
//	… wait until Get returns StatusOnline …
package database

import (
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the database service for one project. Create and Update return before the server has the desired state, which
// StatusOnline shows. Only Create returns the password: if the answer was lost, repeat it with the same sdk.WithIdempotencyKey.
// Delete starts the deletion and can be repeated: Get returns StatusDeleting until the instance is not found.
type Client = sdk.Collection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput]

// NewClient returns a client of the database service.
func NewClient(c *sdk.Client) *Client {
	const path = "database/instances"
	return sdk.NewCollection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput](c, path, "instances")
}

// Bounds of FancinessLevel.
const (
	MinFancinessLevel = 10   // the smallest fanciness level
	MaxFancinessLevel = 1000 // the largest fanciness level
)

// Instance is a database instance in an answer of the cloud.
type Instance struct {
	ID             int    `json:"id"`                 // unique in the cloud and never reused
	Name           string `json:"name"`               // unique in the project
	FancinessLevel int    `json:"fanciness_level"`    // the number of connections that the server allows (max_connections)
	Version        string `json:"version,omitempty"`  // the major version of PostgreSQL, empty until it is known
	Status         string `json:"status"`             // one of those of package sdk. In StatusUpdating the server restarts.
	Message        string `json:"message,omitempty"`  // the reason of status FAILED; empty otherwise
	Hostname       string `json:"hostname,omitempty"` // the host of the server. Empty until it first listened.
	// Port is 0 until the server first listened. It may change while the server is down.
	Port      int               `json:"port,omitempty"`
	Username  string            `json:"username"`         // the name of the superuser
	Labels    map[string]string `json:"labels,omitempty"` // those of the user; the cloud only searches them
	CreatedAt time.Time         `json:"created_at"`       // when the create request was accepted
}

// CreatedInstance is the answer to a create request, the only one that contains the password.
type CreatedInstance struct {
	Instance
	sdk.Credentials
}

// CreateInstanceInput describes a new instance.
type CreateInstanceInput struct {
	Name           string `json:"name"`            // an RFC 1035 label of 1 to 63 characters
	FancinessLevel int    `json:"fanciness_level"` // MinFancinessLevel to MaxFancinessLevel
	// Version is an installed major version of PostgreSQL, for example "15". Default: the cloud's choice.
	Version *string `json:"version,omitempty"`
	// Password has 8 to 128 characters without control characters. Default: a random one.
	Password *string `json:"password,omitempty"`
	// Labels can be searched: at most 64, with keys as in Kubernetes and values of at most 256 printable characters.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateInstanceInput describes a change. Fields that are nil do not change.
type UpdateInstanceInput struct {
	FancinessLevel *int `json:"fanciness_level,omitempty"` // restarts the server if it changes
	// Password does not restart the server. The old one is refused once the status is StatusOnline again.
	Password *string           `json:"password,omitempty"`
	Labels   map[string]string `json:"labels,omitzero"` // replace all current labels; an empty map that is not nil removes them
}
