// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

type networkRequest = kind.Request[v1alpha3.NetworkParameters, network.Network]

// networks are private ranges of addresses.
func networks() kind.Kind[*sdk.Client, v1alpha3.NetworkParameters, v1alpha3.NetworkObservation, network.Network] {
	return kind.Kind[*sdk.Client, v1alpha3.NetworkParameters, v1alpha3.NetworkObservation, network.Network]{
		Identity: kind.ByLabel,
		ID:       func(n *network.Network) string { return n.ID },
		States:   states(),
		Inputs:   []any{network.CreateNetworkInput{}, network.UpdateNetworkInput{}},
		Get: func(ctx context.Context, c *sdk.Client, r *networkRequest) (*network.Network, error) {
			return network.NewClient(c).Get(ctx, r.Name)
		},
		List: func(ctx context.Context, c *sdk.Client, labels map[string]string) ([]network.Network, error) {
			return network.NewClient(c).List(ctx, labels)
		},
		Create: func(ctx context.Context, c *sdk.Client, r *networkRequest) (*network.Network, error) {
			return network.NewClient(c).Create(ctx, kind.Input[network.CreateNetworkInput](r))
		},
		Update: func(ctx context.Context, c *sdk.Client, r *networkRequest) error {
			_, err := network.NewClient(c).Update(ctx, r.Name, kind.Input[network.UpdateNetworkInput](r))
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *networkRequest) error {
			return network.NewClient(c).Delete(ctx, r.Name)
		},
	}
}
