// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

type subnetRequest = kind.Request[v1alpha3.SubnetParameters, subnet.Subnet]

// subnets are parts of networks.
func subnets() kind.Kind[*sdk.Client, v1alpha3.SubnetParameters, v1alpha3.SubnetObservation, subnet.Subnet] {
	return kind.Kind[*sdk.Client, v1alpha3.SubnetParameters, v1alpha3.SubnetObservation, subnet.Subnet]{
		Identity: kind.ByLabel,
		ID:       func(s *subnet.Subnet) string { return s.ID },
		States:   states(),
		Inputs:   []any{subnet.CreateSubnetInput{}, subnet.UpdateSubnetInput{}},
		Get: func(ctx context.Context, c *sdk.Client, r *subnetRequest) (*subnet.Subnet, error) {
			return subnet.NewClient(c).Get(ctx, r.Name)
		},
		List: func(ctx context.Context, c *sdk.Client, labels map[string]string) ([]subnet.Subnet, error) {
			return subnet.NewClient(c).List(ctx, labels)
		},
		Create: func(ctx context.Context, c *sdk.Client, r *subnetRequest) (*subnet.Subnet, error) {
			return subnet.NewClient(c).Create(ctx, kind.Input[subnet.CreateSubnetInput](r))
		},
		Update: func(ctx context.Context, c *sdk.Client, r *subnetRequest) error {
			_, err := subnet.NewClient(c).Update(ctx, r.Name, kind.Input[subnet.UpdateSubnetInput](r))
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *subnetRequest) error {
			return subnet.NewClient(c).Delete(ctx, r.Name)
		},
	}
}
