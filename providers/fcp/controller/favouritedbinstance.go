// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// An instance is the cloud's answer about a database instance.
type instance struct {
	database.Instance
	Password string `connection:"password"` // returned at creation only
}

// maintenanceDatabase exists on every PostgreSQL server. The cloud creates no other.
const maintenanceDatabase = "postgres"

type instanceRequest = kind.Request[v1alpha3.FavouriteDBInstanceParameters, instance]

// favouriteDBInstances are dedicated PostgreSQL servers. The password is sent if the user chose one (P61).
func favouriteDBInstances() kind.Kind[*sdk.Client, v1alpha3.FavouriteDBInstanceParameters, v1alpha3.FavouriteDBInstanceObservation, instance] {
	return kind.Kind[*sdk.Client, v1alpha3.FavouriteDBInstanceParameters, v1alpha3.FavouriteDBInstanceObservation, instance]{
		Identity: kind.ByToken,
		Name: func(mg resource.Managed, p *v1alpha3.FavouriteDBInstanceParameters) string {
			return cmp.Or(p.Name, cloudName(mg.GetName()))
		},
		Labels: func(i *instance) map[string]string { return i.Labels },
		States: map[string]kind.State{
			sdk.StatusCreating: kind.Creating, sdk.StatusOnline: kind.Ready,
			sdk.StatusDeleting: kind.Deleting, sdk.StatusFailed: kind.Failed,
		},
		Get: func(ctx context.Context, c *sdk.Client, r *instanceRequest) (*instance, error) {
			have, err := database.NewClient(c).Get(ctx, r.Name)
			if err != nil {
				return nil, err
			}
			return &instance{Instance: *have}, nil
		},
		Create: func(ctx context.Context, c *sdk.Client, r *instanceRequest) (*instance, error) {
			created, err := database.NewClient(c).Create(ctx, database.CreateInstanceInput{
				Name:           r.Name,
				FancinessLevel: r.Parameters.FancinessLevel,
				Version:        r.Parameters.Version,
				Password:       optional(string(r.Secrets["passwordSecretRef"])),
				Labels:         r.Labels,
			}, sdk.WithIdempotencyKey(r.Token))
			if err != nil {
				return nil, err
			}
			return &instance{Instance: created.Instance, Password: created.Password}, nil
		},
		Update: func(ctx context.Context, c *sdk.Client, r *instanceRequest) error {
			_, err := database.NewClient(c).Update(ctx, r.Name, database.UpdateInstanceInput{
				FancinessLevel: optional(r.Parameters.FancinessLevel),
				Password:       optional(string(r.Secrets["passwordSecretRef"])),
				Labels:         r.Labels,
			})
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *instanceRequest) error {
			return database.NewClient(c).Delete(ctx, r.Name)
		},
		// claims of this kind need all details in the Secret
		Connection: func(*sdk.Client, *instance) managed.ConnectionDetails {
			return managed.ConnectionDetails{xpv1.ResourceCredentialsSecretDatabaseKey: []byte(maintenanceDatabase)}
		},
	}
}

// optional is nil for a zero value.
func optional[V comparable](value V) *V {
	var zero V
	if value == zero {
		return nil
	}
	return &value
}
