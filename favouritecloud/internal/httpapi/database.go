// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/database"
	wire "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

const instancesPath = "database/instances"

func (a *API) handleDatabases() {
	a.handle("POST /v1/projects/{project}/"+instancesPath, a.forProject(createsOnce(onceCreator[wire.CreateInstanceInput]{
		replay: a.Databases.Replay,
		create: func(ctx context.Context, project, key string, in wire.CreateInstanceInput) ([]byte, bool, error) {
			return a.Databases.Create(ctx, project, key, in, createdJSON)
		},
		name: func(in wire.CreateInstanceInput) string { return in.Name },
	})))
	handleObjects(a, instancesPath, a.Databases, instanceJSON, func(i []wire.Instance) any { return wire.InstanceList{Instances: i} })
}

// createdJSON is the one answer with the password.
func createdJSON(i database.Record) ([]byte, error) {
	return json.Marshal(wire.CreatedInstance{Instance: instanceJSON(i), Password: i.Password})
}

// instanceJSON shows a record, without its password.
func instanceJSON(i database.Record) wire.Instance {
	shown := wire.Instance{
		ID: i.ID, Name: i.Name, FancinessLevel: i.FancinessLevel, Version: i.Version, Status: i.Status, Message: i.Message,
		Port: i.Port, Username: postgres.Username, Labels: i.Labels, CreatedAt: i.CreatedAt.UTC().Truncate(time.Second),
	}
	if i.Port != 0 {
		shown.Hostname = ports.Host
	}
	return shown
}
