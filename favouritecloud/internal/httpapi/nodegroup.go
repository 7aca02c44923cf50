// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	wire "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

func (a *API) handleNodeGroups() {
	a.handle("POST /v1/projects/{project}/node-groups", a.forProject(createsOnce(onceCreator[wire.CreateNodeGroupInput]{
		replay: a.NodeGroups.Replay,
		create: func(_ context.Context, project, key string, in wire.CreateNodeGroupInput) ([]byte, bool, error) {
			return a.NodeGroups.Create(project, key, in, marshal)
		},
		name: func(in wire.CreateNodeGroupInput) string { return in.Name },
	})))
	handleObjects(a, "node-groups", a.NodeGroups, itself, func(g []wire.NodeGroup) any { return wire.NodeGroupList{NodeGroups: g} })
	a.handle("POST /v1/projects/{project}/node-groups/{verb}", a.forProject(a.autoscale))
}

// autoscale answers POST …/NAME:autoscale.
func (a *API) autoscale(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("verb"), ":autoscale")
	if !ok {
		return refusal.NotFound("there is nothing to POST to at %s: use NAME:autoscale", r.URL.Path)
	}
	var in wire.AutoscaleInput
	if err := decode(r, &in); err != nil {
		return err
	}
	resized, err := a.NodeGroups.Resize(r.PathValue("project"), name, in)
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusOK, resized)
}
