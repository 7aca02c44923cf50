// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

// Creating a network at most once. Its id is unknown in advance, so the label of an earlier attempt is searched first.
func ExampleClient_Create() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	networks, mine := network.NewClient(client), map[string]string{"order": "1"}
	earlier, err := networks.List(context.Background(), mine)
	if err != nil {
		log.Fatal(err)
	}
	if len(earlier) > 0 {
		fmt.Println(earlier[0].ID, "exists already")
		return
	}
	created, err := networks.Create(context.Background(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: mine})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.ID)
}
