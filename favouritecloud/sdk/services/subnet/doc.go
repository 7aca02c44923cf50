// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subnet is the client of the favourite cloud's subnet service. A subnet is a part of a network in one zone.
//
//	c := subnet.NewClient(client)
//	created, err := c.Create(ctx, subnet.CreateSubnetInput{NetworkID: "net-3f9a1c2b7d", CIDRBlock: "10.0.1.0/24"})
//	fmt.Println(created.ID, created.Zone) // chosen by the cloud
//
// As with networks, there are no idempotency keys: if the answer to a create was lost, labels find the subnet. This package also has
// the JSON types of the service.
package subnet
