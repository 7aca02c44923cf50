// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// Asking for a database in a way that is safe to repeat after a crash.
func ExampleClient_Create() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := database.CreateInstanceInput{Name: "orders", FancinessLevel: 100}
	created, err := database.NewClient(client).Create(context.Background(), in, sdk.WithIdempotencyKey("order-1"))
	if sdk.IsExists(err) {
		log.Fatal("somebody else has a database of that name")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Status, "replayed:", created.Replayed)
}
