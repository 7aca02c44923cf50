// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller defines the kinds of the favourite cloud by package kind, one file each. cloud.go has the client that they
// share, failure.go the classification of errors.
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
