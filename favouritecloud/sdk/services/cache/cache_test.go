// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// Asking for a cache in a way that is safe to repeat after a crash.
func ExampleClient_CreateInstance() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 64}
	created, err := cache.NewClient(client).CreateInstance(context.Background(), in, sdk.WithIdempotencyKey("sessions-1"))
	if sdk.IsExists(err) {
		log.Fatal("somebody else has a cache of that name")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Status, "replayed:", created.Replayed)
}

func TestURLEscapesThePassword(t *testing.T) {
	t.Parallel()
	i := cache.Instance{Hostname: "127.0.0.1", Port: 6379, Username: "default"}
	if got, want := i.URL("p@ss/word"), "redis://default:p%40ss%2Fword@127.0.0.1:6379"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUpdateTellsKeepFromRemove(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]cache.UpdateInstanceInput{
		`{}`:                         {},
		`{"memory_megabytes":20}`:    {MemoryMegabytes: new(20)},
		`{"labels":{}}`:              {Labels: map[string]string{}},
		`{"eviction_policy":"none"}`: {EvictionPolicy: new("none")},
	} {
		got, err := json.Marshal(in)
		if err != nil || string(got) != want {
			t.Errorf("got %s, error %v; want %s", got, err, want)
		}
	}
}
