// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache is the client of the favourite cloud's cache service, whose instances are Redis servers.
//
//	c := cache.NewClient(client)
//	created, err := c.Create(ctx, cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 64})
//	… wait until Get returns StatusOnline …
package cache

import (
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the cache service for one project. Create and Update return before the server has the desired state, which
// StatusOnline shows. Only Create returns the password: if the answer was lost, repeat it with the same sdk.WithIdempotencyKey.
// Delete starts the deletion and can be repeated: Get returns StatusDeleting until the instance is not found.
type Client = sdk.Collection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput]

// NewClient returns a client of the cache service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Instance, CreatedInstance, CreateInstanceInput, UpdateInstanceInput](c, "cache/instances", "instances")
}

// Bounds of MemoryMegabytes.
const (
	MinMemoryMegabytes = 8     // the smallest memory
	MaxMemoryMegabytes = 16384 // the largest memory
)

// MaxPreviousPasswordSeconds is the longest time of PreviousPasswordSeconds: a year.
const MaxPreviousPasswordSeconds = 366 * 24 * 60 * 60

// DefaultEvictionPolicy is the default of EvictionPolicy: it evicts the least recently used of the keys that expire.
const DefaultEvictionPolicy = "volatile-lru"

// Instance is a cache in an answer of the cloud.
type Instance struct {
	ID              int    `json:"id"`               // unique in the service and never reused
	Name            string `json:"name"`             // unique in the project
	MemoryMegabytes int    `json:"memory_megabytes"` // limits the memory of the data, in units of 2^20 bytes (maxmemory)
	EvictionPolicy  string `json:"eviction_policy"`  // selects what is evicted at that limit (maxmemory-policy)
	// EngineVersion is the major and minor version of Redis, empty until it is known.
	EngineVersion string `json:"engine_version,omitempty"`
	// Status is one of those of package sdk. In StatusUpdating the server continues to run.
	Status   string `json:"status"`
	Message  string `json:"message,omitempty"`  // the reason of status FAILED; empty otherwise
	Hostname string `json:"hostname,omitempty"` // the host of the server. Empty until a port was chosen.
	// Port is 0 until one was chosen. It may change while the server is down.
	Port      int               `json:"port,omitempty"`
	Username  string            `json:"username"`         // the user of the password, and of clients that send only a password
	Labels    map[string]string `json:"labels,omitempty"` // those of the user; the cloud only searches them
	CreatedAt time.Time         `json:"created_at"`       // when the create request was accepted
	// PreviousPasswordExpiresAt is until when the password before the last change opens the server, too; zero if none does.
	PreviousPasswordExpiresAt time.Time `json:"previous_password_expires_at,omitzero"`
}

// CreatedInstance is the answer to a create request, the only one that contains the password.
type CreatedInstance struct {
	Instance
	sdk.Credentials
}

// CreateInstanceInput describes a new instance.
type CreateInstanceInput struct {
	Name            string `json:"name"`             // an RFC 1035 label of 1 to 63 characters
	MemoryMegabytes int    `json:"memory_megabytes"` // limits the memory of the data, MinMemoryMegabytes to MaxMemoryMegabytes
	// EvictionPolicy is one of Redis's, such as noeviction. Default: DefaultEvictionPolicy.
	EvictionPolicy *string `json:"eviction_policy,omitempty"`
	// EngineVersion is an installed major and minor version of Redis, for example "7.0". Default: the cloud's choice.
	EngineVersion *string `json:"engine_version,omitempty"`
	// Password has 8 to 128 characters without control characters. Default: a random one.
	Password *string `json:"password,omitempty"`
	// Labels can be searched: at most 64, with keys as in Kubernetes and values of at most 256 printable characters.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateInstanceInput describes a change. Fields that are nil do not change. The server does not restart.
type UpdateInstanceInput struct {
	MemoryMegabytes *int    `json:"memory_megabytes,omitempty"` // the new limit. The eviction policy applies to data beyond it.
	EvictionPolicy  *string `json:"eviction_policy,omitempty"`  // the new policy
	// Password replaces the old one, which is refused once the status is StatusOnline again, unless PreviousPasswordSeconds keeps it.
	Password *string `json:"password,omitempty"`
	// PreviousPasswordSeconds is how long the password that Password replaces opens the server beside it, at most
	// MaxPreviousPasswordSeconds. Older ones never do. With the current Password, or none, it changes how long the present previous
	// password does; 0 ends that. Default: a new Password ends all others at once.
	PreviousPasswordSeconds *int              `json:"previous_password_seconds,omitempty"`
	Labels                  map[string]string `json:"labels,omitzero"` // replace all current labels; an empty map that is not nil removes them
}
