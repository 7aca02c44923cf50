// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is the client of the favourite cloud's network service, which chooses the ids of networks.
//
//	c := network.NewClient(client)
//	created, err := c.Create(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: labels})
//	network, err := c.Get(ctx, created.ID)
//
// The service has no idempotency keys: if the answer to a create was lost, only List with labels finds the network and its
// id. Package subnet divides a network. This package also has the JSON types of the service.
package network
