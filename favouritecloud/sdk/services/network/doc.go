// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is the client of the favourite cloud's network service, which names its networks itself.
//
//	c := network.NewClient(client)
//	created, err := c.CreateNetwork(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: mine})
//	… created.ID is the name from now on …
//
// Creating knows no idempotency keys: after a lost answer, only ListNetworks with labels tells whether the network was
// made, and what it is called. Package subnet divides a network. This package also holds the JSON types of the service.
package network
