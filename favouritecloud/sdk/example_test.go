// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

// Creating a database in a way that is safe to repeat after a crash.
func ExampleWithIdempotencyKey() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := database.CreateInstanceInput{Name: "orders", FancinessLevel: 100}
	created, err := database.NewClient(client).Create(context.Background(), in, sdk.WithIdempotencyKey("order-1"))
	if sdk.IsExists(err) {
		log.Fatal("another client has a database of that name")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Status, "replayed:", created.Replayed)
}

// Creating a network at most once. Its id is unknown in advance, so the label of an earlier attempt is searched first.
func ExampleCollection_List() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	networks, mine := network.NewClient(client), map[string]string{"order": "1"}
	earlier, err := networks.List(context.Background(), mine)
	if err == nil && len(earlier) == 0 {
		_, err = networks.Create(context.Background(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: mine})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// One in twenty writes gets no answer, and every call is slow.
func ExampleAdminClient_SetFaults() {
	admin, err := sdk.NewAdminClient("http://127.0.0.1:7070", "fca_…")
	if err != nil {
		log.Fatal(err)
	}
	if err := admin.SetFaults(context.Background(), sdk.FaultRule{Latency: "200ms", DropRate: 0.05, Seed: 1}); err != nil {
		log.Fatal(err)
	}
	stats, err := admin.Stats(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Count(http.MethodPost, "networks", sdk.OutcomeDropped), "answers were lost")
}
