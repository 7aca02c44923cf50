// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// Asking for a cache in a way that is safe to repeat after a crash.
func ExampleClient_Create() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 64}
	created, err := cache.NewClient(client).Create(context.Background(), in, sdk.WithIdempotencyKey("sessions-1"))
	if sdk.IsExists(err) {
		log.Fatal("somebody else has a cache of that name")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Status, "replayed:", created.Replayed)
}
