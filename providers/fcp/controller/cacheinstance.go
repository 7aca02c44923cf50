// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
)

// A cacheInstance is the cloud's answer about a cache.
type cacheInstance struct {
	cache.Instance
	Password string `connection:"password"` // returned at creation only
}

type cacheRequest = kind.Request[v1alpha3.CacheInstanceParameters, cacheInstance]

// cacheInstances are dedicated Redis servers. The password is sent if the user chose one (P61).
func cacheInstances() kind.Kind[*sdk.Client, v1alpha3.CacheInstanceParameters, v1alpha3.CacheInstanceObservation, cacheInstance] {
	return kind.Kind[*sdk.Client, v1alpha3.CacheInstanceParameters, v1alpha3.CacheInstanceObservation, cacheInstance]{
		Identity: kind.ByToken,
		Name: func(mg resource.Managed, p *v1alpha3.CacheInstanceParameters) string {
			return *cmp.Or(p.Name, new(cloudName(mg.GetName())))
		},
		Labels: func(i *cacheInstance) map[string]string { return i.Labels },
		States: map[string]kind.State{
			sdk.StatusCreating: kind.Creating, sdk.StatusOnline: kind.Ready,
			sdk.StatusDeleting: kind.Deleting, sdk.StatusFailed: kind.Failed,
		},
		Inputs: []any{cache.CreateInstanceInput{}, cache.UpdateInstanceInput{}},
		Get: func(ctx context.Context, c *sdk.Client, r *cacheRequest) (*cacheInstance, error) {
			have, err := cache.NewClient(c).Get(ctx, r.Name)
			if err != nil {
				return nil, err
			}
			return &cacheInstance{Instance: *have}, nil
		},
		Create: func(ctx context.Context, c *sdk.Client, r *cacheRequest) (*cacheInstance, error) {
			in := kind.Input[cache.CreateInstanceInput](r)
			in.Name, in.Password = r.Name, optional(string(r.Secrets["passwordSecretRef"]))
			created, err := cache.NewClient(c).Create(ctx, in, sdk.WithIdempotencyKey(r.Token))
			if err != nil {
				return nil, err
			}
			return &cacheInstance{Instance: created.Instance, Password: created.Password}, nil
		},
		Update: func(ctx context.Context, c *sdk.Client, r *cacheRequest) error {
			in := kind.Input[cache.UpdateInstanceInput](r)
			in.Password = optional(string(r.Secrets["passwordSecretRef"]))
			_, err := cache.NewClient(c).Update(ctx, r.Name, in)
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *cacheRequest) error {
			return cache.NewClient(c).Delete(ctx, r.Name)
		},
	}
}
