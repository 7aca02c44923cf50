// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

// States of an instance.
const (
	// StatusCreating: the server is being made.
	StatusCreating = "CREATING"
	// StatusOnline: the server accepts connections.
	StatusOnline = "ONLINE"
	// StatusUpdating: a change is being applied. The server goes on meanwhile.
	StatusUpdating = "UPDATING"
	// StatusDeleting: the server and its data are being removed. The instance is not found once that is done.
	StatusDeleting = "DELETING"
	// StatusFailed: the server is down for the reason in Message. The cloud tries again by itself, at least every
	// ten seconds.
	StatusFailed = "FAILED"
)

// Bounds of MemoryMegabytes.
const (
	// MinMemoryMegabytes is the smallest memory.
	MinMemoryMegabytes = 8
	// MaxMemoryMegabytes is the largest memory.
	MaxMemoryMegabytes = 16384
)

// DefaultEvictionPolicy is what is done when the memory is full, unless told otherwise: what was not used for longest gives
// way, among what has an expiry.
const DefaultEvictionPolicy = "volatile-lru"

// Instance is a cache as the cloud sees it.
type Instance struct {
	// ID is unique in the service and never used again.
	ID int `json:"id"`
	// Name is unique in the project.
	Name string `json:"name"`
	// MemoryMegabytes is how much memory the data may take, in units of 2^20 bytes (maxmemory).
	MemoryMegabytes int `json:"memory_megabytes"`
	// EvictionPolicy says what gives way when the memory is full (maxmemory-policy).
	EvictionPolicy string `json:"eviction_policy"`
	// EngineVersion is the major and minor version of Redis, for example "7.0". Empty until it is known.
	EngineVersion string `json:"engine_version,omitempty"`
	// Status is one of the Status constants.
	Status string `json:"status"`
	// Message says why the status is FAILED; empty otherwise.
	Message string `json:"message,omitempty"`
	// Hostname is where the server listens. Empty until a port was chosen.
	Hostname string `json:"hostname,omitempty"`
	// Port is the TCP port of the server. 0 until one was chosen; it changes if another program took the port while
	// the server was down.
	Port int `json:"port,omitempty"`
	// Username is the name of the user that the password is for. Clients that give a password only mean this user.
	Username string `json:"username"`
	// Labels are the caller's; the cloud only searches them.
	Labels map[string]string `json:"labels,omitempty"`
	// CreatedAt is when the create request was accepted.
	CreatedAt time.Time `json:"created_at"`
}

// CreatedInstance is the answer to a create request: the only one that holds the password.
type CreatedInstance struct {
	Instance
	// Password is the password at the time of the request.
	Password string `json:"password"`
	// Replayed is true when this is the answer to an earlier request with the same idempotency key. It describes
	// the instance as it was then.
	Replayed bool `json:"-"`
}

// CreateInstanceInput describes a new instance.
type CreateInstanceInput struct {
	// Name has 1 to 63 lower case letters, digits and hyphens, starts with a letter and does not end with a hyphen.
	Name string `json:"name"`
	// MemoryMegabytes is how much memory the data may take, MinMemoryMegabytes to MaxMemoryMegabytes.
	MemoryMegabytes int `json:"memory_megabytes"`
	// EvictionPolicy is one of Redis's: noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu,
	// volatile-random or volatile-ttl. Default: DefaultEvictionPolicy.
	EvictionPolicy *string `json:"eviction_policy,omitempty"`
	// EngineVersion is a major and minor version of Redis that the cloud has installed, for example "7.0". Default: the
	// cloud's choice.
	EngineVersion *string `json:"engine_version,omitempty"`
	// Password is what clients need: 8 to 128 characters without control characters. Default: one that the cloud makes.
	Password *string `json:"password,omitempty"`
	// Labels are kept and searched. At most 64; keys are like label keys of Kubernetes, values have at most 256
	// printable characters.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateInstanceInput describes a change. Fields that are nil stay as they are. The server goes on meanwhile.
type UpdateInstanceInput struct {
	// MemoryMegabytes is the new memory. If the data takes more, the eviction policy decides what becomes of it.
	MemoryMegabytes *int `json:"memory_megabytes,omitempty"`
	// EvictionPolicy is the new policy.
	EvictionPolicy *string `json:"eviction_policy,omitempty"`
	// Password replaces the password, by the rules of CreateInstanceInput. The old one opens no new connection once the
	// status is StatusOnline again.
	Password *string `json:"password,omitempty"`
	// Labels replace all present labels; an empty map that is not nil removes them.
	Labels map[string]string `json:"labels,omitzero"`
}

// InstanceList is the JSON of a list answer.
type InstanceList struct {
	// Instances are ordered by name.
	Instances []Instance `json:"instances"`
}
