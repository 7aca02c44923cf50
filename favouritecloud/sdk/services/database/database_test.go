// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// Asking for a database in a way that is safe to repeat after a crash.
func ExampleClient_CreateInstance() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	in := database.CreateInstanceInput{Name: "orders", FancinessLevel: 100}
	created, err := database.NewClient(client).CreateInstance(context.Background(), in, sdk.WithIdempotencyKey("order-1"))
	if sdk.IsExists(err) {
		log.Fatal("somebody else has a database of that name")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Status, "replayed:", created.Replayed)
}

func TestURLEscapesThePassword(t *testing.T) {
	t.Parallel()
	i := database.Instance{Hostname: "127.0.0.1", Port: 5432, Username: "postgres"}
	if got, want := i.URL("p@ss/word"), "postgres://postgres:p%40ss%2Fword@127.0.0.1:5432/postgres"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUpdateTellsKeepFromRemove(t *testing.T) {
	t.Parallel()
	level := 20
	cases := map[string]struct {
		in   database.UpdateInstanceInput
		want string
	}{
		"nothing":       {database.UpdateInstanceInput{}, `{}`},
		"level":         {database.UpdateInstanceInput{FancinessLevel: &level}, `{"fanciness_level":20}`},
		"remove labels": {database.UpdateInstanceInput{Labels: map[string]string{}}, `{"labels":{}}`},
		"set labels":    {database.UpdateInstanceInput{Labels: map[string]string{"a": "b"}}, `{"labels":{"a":"b"}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tc.in)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, error %v; want %s", got, err, tc.want)
			}
		})
	}
}
