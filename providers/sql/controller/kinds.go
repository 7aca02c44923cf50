// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/provider"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// Kinds returns all kinds in all scopes.
func Kinds() []provider.Kind {
	on := system(servers())
	return slices.Concat(
		kind.Serve(on, databases(), &v1alpha1.Database{}, &namespacedv1alpha1.Database{}),
		kind.Serve(on, roles(), &v1alpha1.Role{}, &namespacedv1alpha1.Role{}),
		kind.Serve(on, schemas(), &v1alpha1.Schema{}, &namespacedv1alpha1.Schema{}),
		kind.Serve(on, extensions(), &v1alpha1.Extension{}, &namespacedv1alpha1.Extension{}),
		kind.Serve(on, tenantDatabases(), &v1alpha1.TenantDatabase{}),
		kind.Serve(on, grants(), &v1alpha1.Grant{}, &namespacedv1alpha1.Grant{}),
	)
}
