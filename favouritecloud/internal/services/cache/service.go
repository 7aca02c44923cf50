// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// Config is what a Service needs. All fields are required.
type Config struct {
	// Store holds the records.
	Store *store.Store
	// Folder holds the folders of instances. It exists and is free of symbolic links.
	Folder string
	// Account owns the data of new instances.
	Account account.Account
	// SearchPath is where Redis is looked for: see redis.FindInstallations.
	SearchPath []string
	// RetryInterval is the longest pause before another attempt.
	RetryInterval time.Duration
	// Log hears of what happens to instances.
	Log *slog.Logger
}

// Record is the record of an instance.
type Record struct {
	store.Instance
	// MemoryMegabytes and EvictionPolicy are wanted.
	MemoryMegabytes int
	EvictionPolicy  string
	// Secret lets the cloud, and nobody else, administer the server.
	Secret string
}

// Service is the cache service. Call Recover, then Run, and the other methods while Run runs.
type Service struct {
	*fleet.Fleet[Record, *Record]
	searchPath []string
}

// New returns a service that does nothing yet.
func New(c Config) *Service {
	return &Service{searchPath: c.SearchPath, Fleet: fleet.New[Record](fleet.Config[Record]{
		Store: c.Store, Service: "cache", Noun: "cache instance", Folder: c.Folder, Ports: ports.Caches(),
		RetryInterval: c.RetryInterval, Log: c.Log,
		NewServer: func(s fleet.Site[Record]) fleet.Server[Record] {
			return &server{Site: s, searchPath: c.SearchPath, owner: c.Account}
		},
	})}
}

// Create records a new instance and has it made: see fleet.Fleet.
func (s *Service) Create(ctx context.Context, project, idempotencyKey string, in api.CreateInstanceInput,
	answer func(Record) ([]byte, error)) (body []byte, replayed bool, err error) {
	record := Record{
		Instance: store.Instance{
			Project: project, Name: in.Name, Version: *cmp.Or(in.EngineVersion, new(string)), Labels: maps.Clone(in.Labels),
			Password: *cmp.Or(in.Password, new(fleet.NewPassword())), IdempotencyKey: idempotencyKey,
		},
		MemoryMegabytes: in.MemoryMegabytes,
		EvictionPolicy:  *cmp.Or(in.EvictionPolicy, new(api.DefaultEvictionPolicy)),
		Secret:          fleet.NewPassword(),
	}
	return s.Fleet.Create(record, s.validateCreate(ctx, in), answer)
}

// Update changes an instance and has the change applied.
func (s *Service) Update(project, name string, in api.UpdateInstanceInput) (Record, error) {
	if err := validateUpdate(in); err != nil {
		return Record{}, err
	}
	return s.Change(project, name, in.Labels, func(r *Record) bool {
		before := []any{r.MemoryMegabytes, r.EvictionPolicy, r.Password}
		r.MemoryMegabytes = *cmp.Or(in.MemoryMegabytes, &r.MemoryMegabytes)
		r.EvictionPolicy = *cmp.Or(in.EvictionPolicy, &r.EvictionPolicy)
		r.Password = *cmp.Or(in.Password, &r.Password)
		return !slices.Equal(before, []any{r.MemoryMegabytes, r.EvictionPolicy, r.Password})
	})
}
