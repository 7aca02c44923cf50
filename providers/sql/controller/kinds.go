// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/service"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// Kinds returns all kinds in all scopes.
func Kinds() []provider.Kind {
	on := system(servers())
	return slices.Concat(
		service.Serve(on, databases(), &v1alpha1.Database{}, &namespacedv1alpha1.Database{}),
		service.Serve(on, roles(), &v1alpha1.Role{}, &namespacedv1alpha1.Role{}),
		service.Serve(on, schemas(), &v1alpha1.Schema{}, &namespacedv1alpha1.Schema{}),
		service.Serve(on, extensions(), &v1alpha1.Extension{}, &namespacedv1alpha1.Extension{}),
		service.Serve(on, tenantDatabases(), &v1alpha1.TenantDatabase{}),
		service.Serve(on, grants(), &v1alpha1.Grant{}, &namespacedv1alpha1.Grant{}),
	)
}
