// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"io"
	"net/http"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/database"
	cacheapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	databaseapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	networkapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	nodegroupapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	subnetapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

const inProject = "/v1/projects/{project}/"

// addRoutes adds all routes of the API.
func (a *API) addRoutes() {
	a.routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	a.handle("POST "+inProject+"keys", a.forAdmin(a.createKey))

	const databases, caches, groups = "database/instances", "cache/instances", "node-groups"
	handleReplayable(a, databases, a.Databases, func(in databaseapi.CreateInstanceInput) string { return in.Name })
	handleObjects(a, databases, a.Databases, database.Show, "instances")
	handleReplayable(a, caches, a.Caches, func(in cacheapi.CreateInstanceInput) string { return in.Name })
	handleObjects(a, caches, a.Caches, cache.Show, "instances")

	const networks, subnets = "networks", "subnets"
	handleCreate(a, networks, a.Networks.Create, func(n networkapi.Network) string { return n.ID })
	handleObjects(a, networks, a.Networks, itself, "networks")
	handleCreate(a, subnets, a.Subnets.Create, func(s subnetapi.Subnet) string { return s.ID })
	handleObjects(a, subnets, a.Subnets, itself, "subnets")

	handleReplayable(a, groups, a.NodeGroups, func(in nodegroupapi.CreateNodeGroupInput) string { return in.Name })
	handleObjects(a, groups, a.NodeGroups, itself, "node_groups")
	a.handle("POST "+inProject+groups+"/{verb}", a.forProject(a.autoscale))

	if a.Faults != nil {
		a.addFaultRoutes()
	}
}

// autoscale answers POST …/NAME:autoscale.
func (a *API) autoscale(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("verb"), ":autoscale")
	if !ok {
		return refusal.NotFound("POST is not supported at %s: use NAME:autoscale", r.URL.Path)
	}
	var in nodegroupapi.AutoscaleInput
	if err := decode(r, &in); err != nil {
		return err
	}
	resized, err := a.NodeGroups.Resize(r.PathValue("project"), name, in)
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusOK, resized)
}

// itself shows objects that are stored as the API shows them.
func itself[T any](object T) T { return object }
