// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/redis"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
)

// engine runs the Redis server of one instance.
type engine struct {
	folder     string
	owner      host.Account
	searchPath []string
}

// instance is the server's folder. The secret is not needed to stop the server or to remove the data.
func (e *engine) instance(secret string) *redis.Instance {
	return redis.NewInstance(e.folder, e.owner, secret)
}

func settings(r Record, port int) redis.Settings {
	return redis.Settings{Port: port, MemoryMegabytes: r.MemoryMegabytes, EvictionPolicy: r.EvictionPolicy, Password: r.Password}
}

// Find returns the server that an earlier cloud started.
func (e *engine) Find(ctx context.Context, record Record) (*redis.Server, error) {
	return e.instance(record.Secret).Running(ctx)
}

// Fits is always true: all settings can be changed while the server runs.
func (e *engine) Fits(*redis.Server, Record) bool { return true }

// Prepare selects the program.
func (e *engine) Prepare(ctx context.Context, record Record) (func(port int) (*redis.Server, error), error) {
	installed, err := redis.FindInstallations(ctx, e.searchPath)
	if err != nil {
		return nil, err
	}
	installation, err := redis.Select(installed, record.Version)
	return func(port int) (*redis.Server, error) {
		return e.instance(record.Secret).Start(ctx, installation, settings(record, port))
	}, err
}

// Settle waits for the server and applies its settings.
func (e *engine) Settle(ctx context.Context, s *redis.Server, record Record) (fleet.Seen, error) {
	version, port, err := s.WaitReady(ctx)
	if err != nil {
		return fleet.Seen{}, err
	}
	return fleet.Seen{Version: version, Port: port}, s.Apply(ctx, settings(record, port))
}

// Clear ends every server process of the instance and keeps the data.
func (e *engine) Clear(ctx context.Context) error { return e.instance("").Clear(ctx) }

// Remove ends every server process of the instance and deletes its folder.
func (e *engine) Remove(ctx context.Context) error { return e.instance("").Remove(ctx) }
