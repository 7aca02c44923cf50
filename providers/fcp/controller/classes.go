// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// Classes returns which claims can be satisfied, and with what.
func Classes() []provider.Class {
	return []provider.Class{
		provider.ClassOf(&databasev1alpha1.FancySQLInstance{}, &v1alpha3.FavouriteDBInstanceClass{}, &v1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.FancySQLInstance, p *v1alpha3.FavouriteDBInstanceParameters) error {
				return errors.Join(ownName(p.Name), provider.Agree("version", claim.Spec.Version, &p.Version))
			}),
		provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1alpha3.FavouriteDBInstanceClass{}, &v1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.PostgreSQLInstance, p *v1alpha3.FavouriteDBInstanceParameters) error {
				return errors.Join(ownName(p.Name), provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.Version))
			}),
	}
}

// ownName refuses a class that gives everything that is made with it the same name.
func ownName(name string) error {
	if name != "" {
		return errors.New("the class sets forProvider.name, which no two claims can share: ask your platform team to take it out")
	}
	return nil
}
