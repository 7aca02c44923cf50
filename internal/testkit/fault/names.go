// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"regexp"
	"strings"
)

func isRead(request string) bool { return strings.HasPrefix(request, http.MethodGet+" ") }

// Listed ends the name of an uncached list without a label selector.
const Listed = " (list)"

const selected = " (list by label)"

// uid matches the names of connection Secrets that were created for claims.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// APIRequest names a request to the API server without the names of objects, "PATCH nodegroups.compute.fcp.m.crossplane.io",
// but with those of Secrets, unless these are UIDs. Requests of caches and of discovery have no name.
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
	forCaches := query.Get("watch") != "" || query.Get("resourceVersion") != "" || path[0] == "customresourcedefinitions"
	if r.Method == http.MethodGet && forCaches {
		return "", false
	}
	request = r.Method + " " + path[0] + group
	switch {
	case len(path) > 2:
		request += "/" + strings.Join(path[2:], "/")
	case len(path) == 2 && path[0] == "secrets":
		request += " " + uid.ReplaceAllString(path[1], "UID")
	case len(path) == 1 && r.Method == http.MethodGet && query.Get("labelSelector") != "":
		request += selected
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
