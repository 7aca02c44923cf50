// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

// Making a network at most once, though its name is not known before: look for the label of an earlier attempt first.
func ExampleClient_CreateNetwork() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	networks, mine := network.NewClient(client), map[string]string{"order": "1"}
	earlier, err := networks.ListNetworks(context.Background(), mine)
	if err != nil {
		log.Fatal(err)
	}
	if len(earlier) > 0 {
		fmt.Println(earlier[0].ID, "is there already")
		return
	}
	created, err := networks.CreateNetwork(context.Background(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: mine})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.ID)
}

func TestUpdateTellsKeepFromRemove(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in   network.UpdateNetworkInput
		want string
	}{
		"nothing":            {network.UpdateNetworkInput{}, `{}`},
		"remove description": {network.UpdateNetworkInput{Description: new("")}, `{"description":""}`},
		"remove servers":     {network.UpdateNetworkInput{DNSServers: &[]string{}}, `{"dns_servers":[]}`},
		"remove labels":      {network.UpdateNetworkInput{Labels: map[string]string{}}, `{"labels":{}}`},
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
