// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// Record is the record of an instance.
type Record struct {
	store.Instance
	// FancinessLevel is the desired one.
	FancinessLevel int
	// FormerPasswords are those that the server may have instead of Password, while a change of it is not known to be applied;
	// empty otherwise.
	FormerPasswords []string
}

// Service is the database service. Call Recover, then Run, and the other methods while Run runs.
type Service struct {
	*fleet.Fleet[Record, *Record]
	searchPath []string
}

// New returns a service that is not running yet. The search path is that of postgres.FindInstallations; parallel is how many data
// folders are initialized at the same time.
func New(env fleet.Environment, parallel int) *Service {
	slots := make(chan struct{}, parallel)
	return &Service{searchPath: env.SearchPath, Fleet: fleet.New[Record](fleet.Config[Record]{
		Environment: env, Service: "database", Noun: "database instance", Ports: host.DatabasePorts(),
		NewServer: func(s fleet.Site[Record]) fleet.Server[Record] {
			e := &engine{Cluster: postgres.NewCluster(s.Folder, env.Account), site: s, searchPath: env.SearchPath, slots: slots}
			return fleet.NewServer(s, e)
		},
	})}
}

// Create records a new instance and starts its creation: see fleet.Fleet.
func (s *Service) Create(ctx context.Context, project, idempotencyKey string, in api.CreateInstanceInput,
) (body []byte, replayed bool, err error) {
	record := Record{FancinessLevel: in.FancinessLevel, Instance: store.Instance{
		Project: project, Name: in.Name, Version: *cmp.Or(in.Version, new(string)), Labels: maps.Clone(in.Labels),
		Password: *cmp.Or(in.Password, new(fleet.NewPassword())), IdempotencyKey: idempotencyKey,
	}}
	return s.Fleet.Create(record, s.validateCreate(ctx, in), func(r Record) ([]byte, error) {
		return json.Marshal(api.CreatedInstance{Instance: Show(r), Credentials: sdk.Credentials{Password: r.Password}})
	})
}

// Update changes an instance and starts to apply the change.
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

// Show returns the instance of a record as the API shows it, without its password.
func Show(r Record) api.Instance {
	return api.Instance{
		ID: r.ID, Name: r.Name, FancinessLevel: r.FancinessLevel, Version: r.Version, Status: r.Status, Message: r.Message,
		Hostname: fleet.Hostname(r.Port), Port: r.Port, Username: postgres.Username, Labels: r.Labels,
		CreatedAt: r.CreatedAt.UTC().Truncate(time.Second),
	}
}

func (s *Service) validateCreate(ctx context.Context, in api.CreateInstanceInput) error {
	if err := rules.Name("name", in.Name); err != nil {
		return err
	}
	desired := api.UpdateInstanceInput{FancinessLevel: &in.FancinessLevel, Password: in.Password, Labels: in.Labels}
	if err := validateUpdate(desired); err != nil || in.Version == nil {
		return err
	}
	installed, err := postgres.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	version := rules.Version{Field: "version", Program: "PostgreSQL", Pattern: `^[1-9][0-9]{0,3}$`, Form: "a major version", Example: "15"}
	for _, i := range installed {
		version.Installed = append(version.Installed, i.Major)
	}
	return version.Validate(*in.Version)
}

func validateUpdate(in api.UpdateInstanceInput) error {
	if level := *cmp.Or(in.FancinessLevel, new(api.MinFancinessLevel)); level < api.MinFancinessLevel || level > api.MaxFancinessLevel {
		return refusal.Invalid("fanciness_level %d is not valid: it must be %d to %d", level, api.MinFancinessLevel, api.MaxFancinessLevel)
	}
	if err := rules.Password(in.Password); err != nil {
		return err
	}
	return rules.Labels(in.Labels)
}
