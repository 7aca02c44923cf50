// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
)

func isRead(request string) bool { return strings.HasPrefix(request, http.MethodGet+" ") }

// apiRequest names a request to the API server without the names of objects: "PATCH nodegroups.compute.fcp.m.crossplane.io".
// What keeps caches going, and what finds out which kinds there are, is no point.
func apiRequest(r *http.Request) (request string, ok bool) {
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
	if len(path) > 2 {
		request += "/" + strings.Join(path[2:], "/")
	}
	if len(path) == 1 && r.Method == http.MethodGet {
		request += listed
	}
	if path[0] == "secrets" && len(path) == 2 {
		request += " " + path[1] // these are named alike everywhere
	}
	return request, true
}

// aboutConfig is true for requests that protect provider configurations: next to an operation they come and go as they
// like, and nothing of it depends on them.
func aboutConfig(request string) bool {
	return strings.Contains(request, "providerconfigs.fcp.") || strings.HasSuffix(request, " secrets "+keySecret) ||
		strings.HasSuffix(request, listed)
}

// listed ends the name of a list past the cache: so are users looked for before a provider configuration goes.
const listed = " (list)"

// cloudRequest names a request to the cloud without the names of objects: "GET cloud/networks/*".
func cloudRequest(r *http.Request) (request string, ok bool) {
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
