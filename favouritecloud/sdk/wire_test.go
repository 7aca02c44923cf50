// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"encoding/json"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

func TestURLEscapesThePassword(t *testing.T) {
	t.Parallel()
	d := database.Instance{Hostname: "127.0.0.1", Port: 5432, Username: "postgres"}
	c := cache.Instance{Hostname: "127.0.0.1", Port: 6379, Username: "default"}
	for got, want := range map[string]string{
		d.URL("p@ss/word"): "postgres://postgres:p%40ss%2Fword@127.0.0.1:5432/postgres",
		c.URL("p@ss/word"): "redis://default:p%40ss%2Fword@127.0.0.1:6379",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An unset field of an update keeps its value, an empty one removes it.
func TestUpdateDistinguishesUnsetFromEmpty(t *testing.T) {
	t.Parallel()
	none := map[string]string{}
	for name, tc := range map[string]struct {
		in   any
		want string
	}{
		"database: nothing":           {database.UpdateInstanceInput{}, `{}`},
		"database: level":             {database.UpdateInstanceInput{FancinessLevel: new(20)}, `{"fanciness_level":20}`},
		"database: remove labels":     {database.UpdateInstanceInput{Labels: none}, `{"labels":{}}`},
		"database: set labels":        {database.UpdateInstanceInput{Labels: map[string]string{"a": "b"}}, `{"labels":{"a":"b"}}`},
		"cache: nothing":              {cache.UpdateInstanceInput{}, `{}`},
		"cache: memory":               {cache.UpdateInstanceInput{MemoryMegabytes: new(20)}, `{"memory_megabytes":20}`},
		"cache: remove labels":        {cache.UpdateInstanceInput{Labels: none}, `{"labels":{}}`},
		"cache: policy":               {cache.UpdateInstanceInput{EvictionPolicy: new("none")}, `{"eviction_policy":"none"}`},
		"network: nothing":            {network.UpdateNetworkInput{}, `{}`},
		"network: remove description": {network.UpdateNetworkInput{Description: new("")}, `{"description":""}`},
		"network: remove servers":     {network.UpdateNetworkInput{DNSServers: &[]string{}}, `{"dns_servers":[]}`},
		"network: remove labels":      {network.UpdateNetworkInput{Labels: none}, `{"labels":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := json.Marshal(tc.in); err != nil || string(got) != tc.want {
				t.Errorf("got %s, error %v; want %s", got, err, tc.want)
			}
		})
	}
}
