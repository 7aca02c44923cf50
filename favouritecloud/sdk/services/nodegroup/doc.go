// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup is the client of the favourite cloud's node group service: groups of machines of changing size.
//
//	c := nodegroup.NewClient(client)
//	size := []nodegroup.ScalingConfigInput{{MinSize: new(1), MaxSize: new(5)}}
//	group, err := c.CreateNodeGroup(ctx, nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: ids, ScalingConfig: size})
//
// The cloud moves the desired size of groups with the label autoscale=true by itself, so whoever declares a size has to
// decide who owns that field. The machines are on paper only. This package also holds the JSON types of the service.
package nodegroup
