// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache is the cloud's cache service, whose instances are Redis servers.
//
// All state is read from the folder and the server and never kept in memory, so every operation may be interrupted anywhere and
// repeated, also by another process. Arguments, environments and logs contain no secrets. Beside the files of host.Folder there is
//
//	<folder>/data/control.sock  the socket of this package
//
// Clients are the user "default" and may do everything but administer the server. The user "cloud" does, with the secret of the
// record and through the socket. So clients cannot change what the cloud relies on, and a program that took the port of a server
// that is down learns nothing. The server stores only hashes of passwords.
package cache

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// username is the user of clients.
const username = "default"

// Spec is the part of records that only caches have.
type Spec struct {
	MemoryMegabytes int // the desired one, as is EvictionPolicy
	EvictionPolicy  string
	Secret          string // the password of the user that administers the server. It is never shown.
}

// Service is the cache service.
type Service = service.Service[Spec, api.CreateInstanceInput, api.UpdateInstanceInput]

type record = service.Record[Spec]

// New returns a service that is not running yet. The search path has folders, or patterns of folders.
func New(env service.Environment, searchPath []string) *Service {
	return service.New(env, service.Kind[Spec, api.CreateInstanceInput, api.UpdateInstanceInput]{
		Noun: "cache instance", New: create, Update: update, Show: func(r record) any { return show(r) },
		ShowCreated: func(r record) any {
			return api.CreatedInstance{Instance: show(r), Credentials: sdk.Credentials{Password: r.Password}}
		},
		Servers: &service.Servers[Spec]{
			Prefix: "cache-", Ports: host.CachePorts,
			Folder: host.Folder{
				Proof: appendIndex, Stop: unix.SIGTERM, End: map[string]unix.Signal{serverProgram: unix.SIGTERM}, Discard: unix.SIGKILL,
				Marks: []string{" # "},
			},
			Software: software(searchPath),
			Version: refusal.Version{
				Field: "engine_version", Program: "Redis", Pattern: `^[1-9][0-9]{0,3}\.[0-9]{1,4}$`, Form: "a major and minor version",
				Example: "7.0",
			},
			NewDriver: func(s service.Site[Spec]) service.Driver[Spec] { return &driver{s} },
		},
	})
}

func create(in api.CreateInstanceInput) (r record, err error) {
	r.Name, r.Labels = in.Name, in.Labels
	r.Version, r.Password = *cmp.Or(in.EngineVersion, new(string)), *cmp.Or(in.Password, new(service.NewPassword()))
	r.Spec = Spec{
		MemoryMegabytes: in.MemoryMegabytes, EvictionPolicy: *cmp.Or(in.EvictionPolicy, new(api.DefaultEvictionPolicy)),
		Secret: service.NewPassword(),
	}
	return r, validate(r.Spec, in.Password)
}

func update(r *record, in api.UpdateInstanceInput) error {
	r.Spec.MemoryMegabytes = *cmp.Or(in.MemoryMegabytes, &r.Spec.MemoryMegabytes)
	r.Spec.EvictionPolicy = *cmp.Or(in.EvictionPolicy, &r.Spec.EvictionPolicy)
	if keep := in.PreviousPasswordSeconds; keep != nil && (*keep < 0 || *keep > api.MaxPreviousPasswordSeconds) {
		return refusal.Invalid("previous_password_seconds %d is not valid: it must be 0 to %d", *keep, api.MaxPreviousPasswordSeconds)
	}
	r.SetPassword(in.Password, in.PreviousPasswordSeconds)
	r.SetLabels(in.Labels)
	return validate(r.Spec, in.Password)
}

func validate(s Spec, password *string) error {
	if s.MemoryMegabytes < api.MinMemoryMegabytes || s.MemoryMegabytes > api.MaxMemoryMegabytes {
		return refusal.Invalid("memory_megabytes %d is not valid: it must be %d to %d",
			s.MemoryMegabytes, api.MinMemoryMegabytes, api.MaxMemoryMegabytes)
	}
	policies := []string{
		"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
	}
	if !slices.Contains(policies, s.EvictionPolicy) {
		return refusal.Invalid("eviction_policy %q is not valid: it must be one of %s", s.EvictionPolicy, strings.Join(policies, ", "))
	}
	return refusal.Password(password)
}

// show returns the instance as the API shows it, without its password.
func show(r record) api.Instance {
	return api.Instance{
		ID: r.ID, Name: r.Name, MemoryMegabytes: r.Spec.MemoryMegabytes, EvictionPolicy: r.Spec.EvictionPolicy,
		EngineVersion: r.Version, Status: r.Status, Message: r.Message, Hostname: r.Hostname(), Port: r.Port, Username: username,
		Labels: r.Labels, CreatedAt: r.CreatedAt, PreviousPasswordExpiresAt: r.PreviousExpiresAt,
	}
}
