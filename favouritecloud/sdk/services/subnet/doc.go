// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subnet is the client of the favourite cloud's subnet service: the parts of a network, one zone each.
//
//	c := subnet.NewClient(client)
//	created, err := c.CreateSubnet(ctx, subnet.CreateSubnetInput{NetworkID: "net-3f9a1c2b7d", CIDRBlock: "10.0.1.0/24"})
//	… created.ID and created.Zone are the cloud's choice …
//
// As with networks, ids are made by the cloud, creating knows no idempotency keys, and labels find what a lost answer
// would have named. This package also holds the JSON types of the service.
package subnet
