// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the cloud's database service, whose instances are PostgreSQL servers.
//
// All state of a server is read from its folder and from /proc (postmaster.pid and the arguments of the process) and never kept
// in memory. So every operation may be interrupted anywhere and repeated, also by another process. Arguments, environments and
// logs contain no secrets.
package database

import (
	"cmp"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// username is the name of the superuser of every server.
const username = "postgres"

// Spec is the part of records that only databases have.
type Spec struct {
	FancinessLevel   int // the desired one
	PasswordRequests int // counts the requests for a password since the server is known to have had the desired one
}

// Service is the database service.
type Service = service.Service[Spec, api.CreateInstanceInput, api.UpdateInstanceInput]

type record = service.Record[Spec]

// New returns a service that is not running yet. parallel is how many data folders are initialized at the same time.
func New(env service.Environment, searchPath []string, parallel int) *Service {
	slots := make(chan struct{}, parallel)
	return service.New(env, service.Kind[Spec, api.CreateInstanceInput, api.UpdateInstanceInput]{
		Noun: "database instance", New: create, Update: update, Show: func(r record) any { return show(r) },
		ShowCreated: func(r record) any {
			return api.CreatedInstance{Instance: show(r), Credentials: sdk.Credentials{Password: r.Password}}
		},
		Servers: &service.Servers[Spec]{
			Prefix: "database-", Ports: host.DatabasePorts,
			// In an immediate shutdown (SIGQUIT) servers free their shared memory and lose no data.
			Folder: host.Folder{
				Proof: versionFile, Stop: unix.SIGINT, End: map[string]unix.Signal{serverProgram: unix.SIGQUIT, initProgram: unix.SIGKILL},
				Marks: []string{"FATAL:", "PANIC:", "error:"},
			},
			Software: software(searchPath),
			Version: refusal.Version{
				Field: "version", Program: "PostgreSQL", Pattern: `^[1-9][0-9]{0,3}$`, Form: "a major version", Example: "15",
			},
			NewDriver: func(s service.Site[Spec]) service.Driver[Spec] { return &driver{Site: s, slots: slots} },
		},
	})
}

func create(in api.CreateInstanceInput) (r record, err error) {
	r.Name, r.Labels, r.Spec = in.Name, in.Labels, Spec{FancinessLevel: in.FancinessLevel}
	r.Version, r.Password = *cmp.Or(in.Version, new(string)), *cmp.Or(in.Password, new(service.NewPassword()))
	return r, validate(r.Spec.FancinessLevel, in.Password)
}

func update(r *record, in api.UpdateInstanceInput) error {
	r.Spec.FancinessLevel = *cmp.Or(in.FancinessLevel, &r.Spec.FancinessLevel)
	r.SetLabels(in.Labels)
	if in.Password != nil { // also the present one, since the server may have another
		r.Password = *in.Password
		r.Spec.PasswordRequests++
	}
	return validate(r.Spec.FancinessLevel, in.Password)
}

func validate(level int, password *string) error {
	if level < api.MinFancinessLevel || level > api.MaxFancinessLevel {
		return refusal.Invalid("fanciness_level %d is not valid: it must be %d to %d",
			level, api.MinFancinessLevel, api.MaxFancinessLevel)
	}
	return refusal.Password(password)
}

// show returns the instance as the API shows it, without its password.
func show(r record) api.Instance {
	return api.Instance{
		ID: r.ID, Name: r.Name, FancinessLevel: r.Spec.FancinessLevel, Version: r.Version, Status: r.Status, Message: r.Message,
		Hostname: r.Hostname(), Port: r.Port, Username: username, Labels: r.Labels, CreatedAt: r.CreatedAt,
	}
}
