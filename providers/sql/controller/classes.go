// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// Classes returns the kinds of claims that the provider satisfies.
func Classes() []provider.Class {
	return []provider.Class{
		provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1alpha1.TenantDatabaseClass{}, &v1alpha1.TenantDatabase{},
			func(claim *databasev1alpha1.PostgreSQLInstance, p *v1alpha1.TenantDatabaseParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.EngineVersion)
			},
			func(p *v1alpha1.TenantDatabaseParameters) error {
				return provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil)
			}),
	}
}
