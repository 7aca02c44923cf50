// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/provider"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// Classes returns the kinds of claims that the provider satisfies.
func Classes() []provider.Class {
	return []provider.Class{
		provider.ClassOf(&databasev1alpha1.FancySQLInstance{}, &v1alpha3.FavouriteDBInstanceClass{}, &v1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.FancySQLInstance, p *v1alpha3.FavouriteDBInstanceParameters) error {
				return provider.Agree("version", claim.Spec.Version, &p.Version)
			}, ownInstance),
		provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1alpha3.FavouriteDBInstanceClass{}, &v1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.PostgreSQLInstance, p *v1alpha3.FavouriteDBInstanceParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.Version)
			}, ownInstance),
		provider.ClassOf(&cachev1alpha1.RedisCluster{}, &cachev1alpha3.CacheInstanceClass{}, &cachev1alpha3.CacheInstance{},
			func(claim *cachev1alpha1.RedisCluster, p *cachev1alpha3.CacheInstanceParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.EngineVersion)
			},
			func(p *cachev1alpha3.CacheInstanceParameters) error {
				return errors.Join(provider.Alone("name", p.Name != nil), provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil))
			}),
	}
}

// ownInstance refuses settings that no two claims can share.
func ownInstance(p *v1alpha3.FavouriteDBInstanceParameters) error {
	return errors.Join(provider.Alone("name", p.Name != ""), provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil))
}
