// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/redis"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// Record is the record of an instance.
type Record struct {
	store.Instance
	// MemoryMegabytes and EvictionPolicy are the desired ones.
	MemoryMegabytes int
	EvictionPolicy  string
	// Secret is the password of the user that administers the server. It is never shown.
	Secret string
}

// Service is the cache service. Call Recover, then Run, and the other methods while Run runs.
type Service struct {
	*fleet.Fleet[Record, *Record]
	searchPath []string
}

// New returns a service that is not running yet. The search path is that of redis.FindInstallations.
func New(env fleet.Environment) *Service {
	return &Service{searchPath: env.SearchPath, Fleet: fleet.New[Record](fleet.Config[Record]{
		Environment: env, Service: "cache", Noun: "cache instance", Ports: host.CachePorts(),
		NewServer: func(s fleet.Site[Record]) fleet.Server[Record] {
			e := &engine{folder: s.Folder, owner: env.Account, searchPath: env.SearchPath}
			return fleet.NewServer(s, e)
		},
	})}
}

// Create records a new instance and starts its creation: see fleet.Fleet.
func (s *Service) Create(ctx context.Context, project, idempotencyKey string, in api.CreateInstanceInput,
) (body []byte, replayed bool, err error) {
	record := Record{
		Instance: store.Instance{
			Project: project, Name: in.Name, Version: *cmp.Or(in.EngineVersion, new(string)), Labels: maps.Clone(in.Labels),
			Password: *cmp.Or(in.Password, new(fleet.NewPassword())), IdempotencyKey: idempotencyKey,
		},
		MemoryMegabytes: in.MemoryMegabytes,
		EvictionPolicy:  *cmp.Or(in.EvictionPolicy, new(api.DefaultEvictionPolicy)),
		Secret:          fleet.NewPassword(),
	}
	return s.Fleet.Create(record, s.validateCreate(ctx, in), func(r Record) ([]byte, error) {
		return json.Marshal(api.CreatedInstance{Instance: Show(r), Credentials: sdk.Credentials{Password: r.Password}})
	})
}

// Update changes an instance and starts to apply the change.
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

// Show returns the instance of a record as the API shows it, without its password.
func Show(r Record) api.Instance {
	return api.Instance{
		ID: r.ID, Name: r.Name, MemoryMegabytes: r.MemoryMegabytes, EvictionPolicy: r.EvictionPolicy, EngineVersion: r.Version,
		Status: r.Status, Message: r.Message, Hostname: fleet.Hostname(r.Port), Port: r.Port, Username: redis.Username,
		Labels: r.Labels, CreatedAt: r.CreatedAt.UTC().Truncate(time.Second),
	}
}

func (s *Service) validateCreate(ctx context.Context, in api.CreateInstanceInput) error {
	if err := rules.Name("name", in.Name); err != nil {
		return err
	}
	desired := api.UpdateInstanceInput{
		MemoryMegabytes: &in.MemoryMegabytes, EvictionPolicy: in.EvictionPolicy, Password: in.Password, Labels: in.Labels,
	}
	if err := validateUpdate(desired); err != nil || in.EngineVersion == nil {
		return err
	}
	installed, err := redis.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	version := rules.Version{
		Field: "engine_version", Program: "Redis", Pattern: `^[1-9][0-9]{0,3}\.[0-9]{1,4}$`, Form: "a major and minor version", Example: "7.0",
	}
	for _, i := range installed {
		version.Installed = append(version.Installed, i.Version)
	}
	return version.Validate(*in.EngineVersion)
}

func validateUpdate(in api.UpdateInstanceInput) error {
	memory := *cmp.Or(in.MemoryMegabytes, new(api.MinMemoryMegabytes))
	if memory < api.MinMemoryMegabytes || memory > api.MaxMemoryMegabytes {
		return refusal.Invalid("memory_megabytes %d is not valid: it must be %d to %d", memory, api.MinMemoryMegabytes, api.MaxMemoryMegabytes)
	}
	policies := []string{
		"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
	}
	if p := in.EvictionPolicy; p != nil && !slices.Contains(policies, *p) {
		return refusal.Invalid("eviction_policy %q is not valid: it must be one of %s", *p, strings.Join(policies, ", "))
	}
	if err := rules.Password(in.Password); err != nil {
		return err
	}
	return rules.Labels(in.Labels)
}
