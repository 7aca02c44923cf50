// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller says how each kind of the favourite cloud's provider is managed through the cloud's SDK.
//
// Its one idea: a kind is a service of four or five functions in a file of its own, and a row of Kinds. What all have in
// common is in cloud.go.
package controller

import (
	"slices"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/provider"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// Kinds returns all kinds in all scopes.
func Kinds() []provider.Kind {
	in := system(clouds())
	return slices.Concat(
		kind.Serve(in, favouriteDBInstances(), &databasev1alpha3.FavouriteDBInstance{}),
		kind.Serve(in, cacheInstances(), &cachev1alpha3.CacheInstance{}),
		kind.Serve(in, networks(), &networkv1alpha3.Network{}, &namespacednetworkv1alpha3.Network{}),
		kind.Serve(in, subnets(), &namespacednetworkv1alpha3.Subnet{}),
		kind.Serve(in, nodeGroups(), &computev1alpha3.NodeGroup{}),
	)
}
