// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"net/http"
	"strings"
)

func isRead(request string) bool { return strings.HasPrefix(request, http.MethodGet+" ") }

// Listed ends the name of a list past the cache.
const Listed = " (list)"

// APIRequest names a request to the API server without the names of objects, "PATCH nodegroups.compute.fcp.m.crossplane.io",
// but with those of Secrets. What keeps caches going, and what finds out which kinds there are, is no point.
func APIRequest(r *http.Request) (request string, ok bool) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(path) >= 3 && path[0] == "api":
		path = path[2:]
	case len(path) >= 4 && path[0] == "apis":
		group, path = "."+path[1], path[3:]
	default:
		return "", false
	}
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	query := r.URL.Query()
	if r.Method == http.MethodGet && (query.Get("watch") != "" || query.Get("resourceVersion") != "") {
		return "", false
	}
	request = r.Method + " " + path[0] + group
	switch {
	case len(path) > 2:
		request += "/" + strings.Join(path[2:], "/")
	case len(path) == 2 && path[0] == "secrets":
		request += " " + path[1]
	case len(path) == 1 && r.Method == http.MethodGet:
		request += Listed
	}
	return request, true
}

// CloudRequest names a request to the favourite cloud without the names of resources: "GET cloud/networks/*".
func CloudRequest(r *http.Request) (request string, ok bool) {
	_, path, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/projects/"), "/")
	if !ok {
		return "", false
	}
	parts := strings.Split(path, "/")
	collection := 1
	if parts[0] == "database" {
		collection = 2
	}
	if len(parts) > collection {
		parts = append(parts[:collection], "*")
	}
	return r.Method + " cloud/" + strings.Join(parts, "/"), true
}
