// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package subnet_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

// A subnet in a zone that the cloud chooses.
func ExampleClient_Create() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := subnet.CreateSubnetInput{NetworkID: "net-3f9a1c2b7d", CIDRBlock: "10.0.1.0/24"}
	created, err := subnet.NewClient(client).Create(context.Background(), in)
	if sdk.IsConflict(err) {
		log.Fatal("another subnet has these addresses")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.ID, created.Zone)
}
