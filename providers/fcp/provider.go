// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fcp is the provider of the favourite cloud: its databases, caches, networks, subnets and node groups.
package fcp

import (
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/controller"
)

// Provider returns the definition of the provider.
func Provider() provider.Provider {
	return provider.Provider{
		Name:        "fcp",
		CRDs:        crds.FS,
		AddToScheme: apis.AddToScheme,
		Configs: []resource.ProviderConfig{
			&v1alpha3.ProviderConfig{}, &namespacedv1alpha3.ProviderConfig{}, &namespacedv1alpha3.ClusterProviderConfig{},
		},
		Kinds:   controller.Kinds(),
		Classes: controller.Classes(),
	}
}
