// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// Config is what a Service needs. All fields are required.
type Config struct {
	// Store holds the records.
	Store *store.Store
	// Folder holds the folders of instances. It exists and is free of symbolic links.
	Folder string
	// Account owns the data of new instances.
	Account account.Account
	// SearchPath is where PostgreSQL is looked for: see postgres.FindInstallations.
	SearchPath []string
	// RetryInterval is the longest pause before another attempt.
	RetryInterval time.Duration
	// Parallel is how many data folders are made at the same time.
	Parallel int
	// Log hears of what happens to instances.
	Log *slog.Logger
}

// Record is the record of an instance.
type Record struct {
	store.Instance
	// FancinessLevel is wanted.
	FancinessLevel int
	// FormerPasswords are those that the server may have instead of Password, while a change of it is not yet known to
	// be applied; empty otherwise.
	FormerPasswords []string
}

// Service is the database service. Call Recover, then Run, and the other methods while Run runs.
type Service struct {
	*fleet.Fleet[Record, *Record]
	searchPath []string
}

// New returns a service that does nothing yet.
func New(c Config) *Service {
	slots := make(chan struct{}, c.Parallel)
	return &Service{searchPath: c.SearchPath, Fleet: fleet.New[Record](fleet.Config[Record]{
		Store: c.Store, Service: "database", Noun: "database instance", Folder: c.Folder, Ports: ports.Databases(),
		RetryInterval: c.RetryInterval, Log: c.Log,
		NewServer: func(s fleet.Site[Record]) fleet.Server[Record] {
			return &server{Site: s, searchPath: c.SearchPath, slots: slots, cluster: postgres.NewCluster(s.Folder, c.Account)}
		},
	})}
}

// Create records a new instance and has it made: see fleet.Fleet.
func (s *Service) Create(ctx context.Context, project, idempotencyKey string, in api.CreateInstanceInput,
	answer func(Record) ([]byte, error)) (body []byte, replayed bool, err error) {
	record := Record{FancinessLevel: in.FancinessLevel, Instance: store.Instance{
		Project: project, Name: in.Name, Labels: maps.Clone(in.Labels), Password: fleet.NewPassword(), IdempotencyKey: idempotencyKey,
	}}
	if in.Password != nil {
		record.Password = *in.Password
	}
	if in.Version != nil {
		record.Version = *in.Version
	}
	return s.Fleet.Create(record, s.validateCreate(ctx, in), answer)
}

// Update changes an instance and has the change applied.
func (s *Service) Update(project, name string, in api.UpdateInstanceInput) (Record, error) {
	if err := validateUpdate(in); err != nil {
		return Record{}, err
	}
	return s.Change(project, name, in.Labels, func(r *Record) (changed bool) {
		if in.FancinessLevel != nil && *in.FancinessLevel != r.FancinessLevel {
			r.FancinessLevel, changed = *in.FancinessLevel, true
		}
		if in.Password != nil && *in.Password != r.Password {
			changePassword(r, *in.Password)
			changed = true
		}
		return changed
	})
}
