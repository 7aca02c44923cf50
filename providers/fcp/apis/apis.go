// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis adds all kinds of the favourite cloud's provider to a scheme.
package apis

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedcomputev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// AddToScheme adds all kinds of the provider to a scheme (A72).
func AddToScheme(s *runtime.Scheme) error {
	return errors.Join(
		v1alpha3.AddToScheme(s),
		databasev1alpha3.AddToScheme(s),
		networkv1alpha3.AddToScheme(s),
		namespacedv1alpha3.AddToScheme(s),
		namespacednetworkv1alpha3.AddToScheme(s),
		namespacedcomputev1alpha3.AddToScheme(s),
	)
}
