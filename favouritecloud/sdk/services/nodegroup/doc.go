// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup is the client of the favourite cloud's node group service: groups of machines of changing size.
//
//	c := nodegroup.NewClient(client)
//	size := []nodegroup.ScalingConfigInput{{MinSize: new(1), MaxSize: new(5)}}
//	group, err := c.Create(ctx, nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: ids, ScalingConfig: size})
//
// The cloud changes the desired size of groups with the label autoscale=true, so clients that declare a size have to decide which of
// them owns that field. There are no real machines. This package also has the JSON types of the service.
package nodegroup
