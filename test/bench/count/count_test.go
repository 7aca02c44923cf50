// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package count_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bowline-dev/bowline/test/bench/count"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ method, url, want string }{
		"create in a namespace":  {"POST", "/api/v1/namespaces/default/secrets", "create secrets"},
		"patch cluster-scoped":   {"PATCH", "/apis/bench.bowline.dev/v1/servers/a", "patch servers"},
		"patch a subresource":    {"PATCH", "/apis/bench.bowline.dev/v1/servers/a/status?fieldManager=x", "patch servers/status"},
		"get in a namespace":     {"GET", "/api/v1/namespaces/default/secrets/a", "get secrets"},
		"list all namespaces":    {"GET", "/api/v1/secrets?limit=500", "list secrets"},
		"watch":                  {"GET", "/api/v1/secrets?allowWatchBookmarks=true&watch=true", "watch secrets"},
		"update":                 {"PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "update leases"},
		"delete":                 {"DELETE", "/api/v1/namespaces/a/secrets/b", "delete secrets"},
		"a namespace itself":     {"GET", "/api/v1/namespaces/default", "get namespaces"},
		"namespaces":             {"GET", "/api/v1/namespaces", "list namespaces"},
		"discovery of a group":   {"GET", "/apis/bench.bowline.dev/v1", "get /apis/bench.bowline.dev/v1"},
		"discovery of the core":  {"GET", "/api/v1", "get /api/v1"},
		"what is no API at all":  {"GET", "/readyz", "get /readyz"},
		"the root of everything": {"GET", "/", "get /"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := count.Request(httptest.NewRequest(tc.method, tc.url, nil)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func ExampleCounter() {
	counter := count.New()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := &http.Client{Transport: counter.Transport(http.DefaultTransport)}
	for range 2 {
		if answer, err := client.Get(server.URL + "/api/v1/namespaces/a/secrets/b"); err == nil {
			answer.Body.Close()
		}
	}
	fmt.Println(counter.Snapshot())
	// Output: map[get secrets:2]
}
