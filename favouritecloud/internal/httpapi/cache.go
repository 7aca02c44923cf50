// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/redis"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/cache"
	wire "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

const cachesPath = "cache/instances"

func (a *API) handleCaches() {
	a.handle("POST /v1/projects/{project}/"+cachesPath, a.forProject(createsOnce(onceCreator[wire.CreateInstanceInput]{
		replay: a.Caches.Replay,
		create: func(ctx context.Context, project, key string, in wire.CreateInstanceInput) ([]byte, bool, error) {
			return a.Caches.Create(ctx, project, key, in, createdCacheJSON)
		},
		name: func(in wire.CreateInstanceInput) string { return in.Name },
	})))
	handleObjects(a, cachesPath, a.Caches, cacheJSON, func(i []wire.Instance) any { return wire.InstanceList{Instances: i} })
}

// createdCacheJSON is the one answer with the password.
func createdCacheJSON(r cache.Record) ([]byte, error) {
	return json.Marshal(wire.CreatedInstance{Instance: cacheJSON(r), Password: r.Password})
}

// cacheJSON shows a record, without its password.
func cacheJSON(r cache.Record) wire.Instance {
	shown := wire.Instance{
		ID: r.ID, Name: r.Name, MemoryMegabytes: r.MemoryMegabytes, EvictionPolicy: r.EvictionPolicy, EngineVersion: r.Version,
		Status: r.Status, Message: r.Message, Port: r.Port, Username: redis.Username, Labels: r.Labels,
		CreatedAt: r.CreatedAt.UTC().Truncate(time.Second),
	}
	if r.Port != 0 {
		shown.Hostname = ports.Host
	}
	return shown
}
