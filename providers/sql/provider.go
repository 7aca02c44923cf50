// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sql is the provider for databases, roles, grants, schemas and extensions of PostgreSQL servers.
package sql

import (
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis"
	"github.com/bowline-dev/bowline/providers/sql/apis/crds"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/controller"
)

// Provider returns the definition of the provider.
func Provider() provider.Provider {
	return provider.Provider{
		Name:        "sql",
		CRDs:        crds.FS,
		AddToScheme: apis.AddToScheme,
		Configs: []resource.ProviderConfig{
			&v1alpha1.ProviderConfig{}, &namespacedv1alpha1.ProviderConfig{}, &namespacedv1alpha1.ClusterProviderConfig{},
		},
		Kinds:   controller.Kinds(),
		Classes: controller.Classes(),
	}
}
