// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
)

// engine runs the PostgreSQL server of one instance.
type engine struct {
	*postgres.Cluster
	site       fleet.Site[Record]
	searchPath []string
	slots      chan struct{} // one token per data folder that is being initialized
}

// Find returns the server that an earlier cloud started.
func (e *engine) Find(context.Context, Record) (*postgres.Server, error) { return e.Running() }

// Fits reports whether the server has the desired settings: all of them require a restart.
func (e *engine) Fits(s *postgres.Server, record Record) bool {
	return s.Settings.MaxConnections == record.FancinessLevel && s.Settings.Port != 0
}

// Prepare initializes the data folder if there is none.
func (e *engine) Prepare(ctx context.Context, record Record) (func(port int) (*postgres.Server, error), error) {
	installed, err := postgres.FindInstallations(ctx, e.searchPath)
	if err != nil {
		return nil, err
	}
	installation, err := e.initialize(ctx, record, installed)
	return func(port int) (*postgres.Server, error) {
		return e.Start(ctx, installation, postgres.Settings{Port: port, MaxConnections: record.FancinessLevel})
	}, err
}

// initialize returns the programs for the data, which it creates if there is none.
func (e *engine) initialize(ctx context.Context, record Record, installed []postgres.Installation) (postgres.Installation, error) {
	exists, err := e.HasData()
	if err != nil {
		return postgres.Installation{}, fmt.Errorf("checking data folder: %w", err)
	}
	if exists {
		major, err := e.Major()
		if err != nil {
			return postgres.Installation{}, err
		}
		return postgres.Select(installed, major)
	}
	installation, err := postgres.Select(installed, record.Version)
	if err != nil {
		return installation, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return installation, ctx.Err()
	}
	password, err := e.firstPassword()
	if err != nil {
		return installation, err
	}
	return installation, e.Initialize(ctx, installation, password)
}

// Settle waits for the server and sets its password.
func (e *engine) Settle(ctx context.Context, s *postgres.Server, record Record) (fleet.Seen, error) {
	if err := s.WaitReady(ctx); err != nil {
		return fleet.Seen{}, err
	}
	if err := e.applyPassword(ctx, s, record); err != nil {
		return fleet.Seen{}, err
	}
	major, err := e.Major()
	return fleet.Seen{Version: major, Port: s.Settings.Port}, err
}
