// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspection

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestName(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"POST /api/v1/namespaces/default/secrets":         "create secrets",
		"PATCH /apis/bench.bowline.dev/v1/servers/a":      "patch servers",
		"PATCH /apis/bowline.dev/v1/servers/a/status?x=y": "patch servers/status",
		"GET /api/v1/namespaces/default/secrets/a":        "get secrets",
		"GET /api/v1/secrets?limit=500":                   "list secrets",
		"GET /api/v1/secrets?watch=true":                  "watch secrets",
		"GET /apis/bench.bowline.dev/v1":                  "get /apis/bench.bowline.dev/v1",
		"GET /readyz":                                     "get /readyz",
	} {
		method, url, _ := strings.Cut(request, " ")
		if got := requestName(httptest.NewRequest(method, url, nil)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}
