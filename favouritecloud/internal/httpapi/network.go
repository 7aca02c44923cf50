// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

func (a *API) handleNetworks() {
	a.handle("POST /v1/projects/{project}/networks",
		a.forProject(creates(a.Networks.Create, func(n network.Network) string { return n.ID })))
	handleObjects(a, "networks", a.Networks, itself, func(n []network.Network) any { return network.NetworkList{Networks: n} })
	a.handle("POST /v1/projects/{project}/subnets",
		a.forProject(creates(a.Subnets.Create, func(s subnet.Subnet) string { return s.ID })))
	handleObjects(a, "subnets", a.Subnets, itself, func(s []subnet.Subnet) any { return subnet.SubnetList{Subnets: s} })
}
