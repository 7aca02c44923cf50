// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
)

type nodeGroupRequest = kind.Request[v1alpha3.NodeGroupParameters, nodegroup.NodeGroup]

// nodeGroups are groups of like machines.
func nodeGroups() kind.Kind[*sdk.Client, v1alpha3.NodeGroupParameters, v1alpha3.NodeGroupObservation, nodegroup.NodeGroup] {
	return kind.Kind[*sdk.Client, v1alpha3.NodeGroupParameters, v1alpha3.NodeGroupObservation, nodegroup.NodeGroup]{
		Identity: kind.ByToken,
		States:   states(),
		Inputs:   []any{nodegroup.CreateNodeGroupInput{}, nodegroup.UpdateNodeGroupInput{}},
		Get: func(ctx context.Context, c *sdk.Client, r *nodeGroupRequest) (*nodegroup.NodeGroup, error) {
			return nodegroup.NewClient(c).Get(ctx, r.Name)
		},
		Create: func(ctx context.Context, c *sdk.Client, r *nodeGroupRequest) (*nodegroup.NodeGroup, error) {
			return nodegroup.NewClient(c).Create(ctx, kind.Input[nodegroup.CreateNodeGroupInput](r), sdk.WithIdempotencyKey(r.Token))
		},
		Update: func(ctx context.Context, c *sdk.Client, r *nodeGroupRequest) error {
			_, err := nodegroup.NewClient(c).Update(ctx, r.Name, kind.Input[nodegroup.UpdateNodeGroupInput](r))
			return err
		},
		Delete: func(ctx context.Context, c *sdk.Client, r *nodeGroupRequest) error {
			return nodegroup.NewClient(c).Delete(ctx, r.Name)
		},
	}
}
