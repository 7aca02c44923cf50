// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package count counts calls by name, and requests to an API server by verb and resource.
//
//	counter := count.New()
//	config.Wrap(counter.Transport)
//	...
//	counter.Snapshot() // map[create secrets:1000 patch items:2000 patch items/status:1000 ...]
package count

import (
	"maps"
	"net/http"
	"strings"
	"sync"
)

// A Counter counts under names. It may be used by several goroutines.
type Counter struct {
	mu     sync.Mutex
	counts map[string]int
}

// New returns a counter that has counted nothing.
func New() *Counter { return &Counter{counts: map[string]int{}} }

// Add counts one more under a name.
func (c *Counter) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name]++
}

// Snapshot returns a copy of the counts so far.
func (c *Counter) Snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// Transport returns a round tripper that counts every request under its verb and resource before next sends it.
func (c *Counter) Transport(next http.RoundTripper) http.RoundTripper {
	return counted{counter: c, next: next}
}

type counted struct {
	counter *Counter
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t counted) RoundTrip(r *http.Request) (*http.Response, error) {
	t.counter.Add(Request(r))
	return t.next.RoundTrip(r)
}

// Request names a request to an API server as RBAC does, for example "patch items/status". Requests without a resource, such as
// discovery, are named by method and path.
func Request(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return strings.ToLower(r.Method) + " " + r.URL.Path
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verb(r, len(parts) > 1) + " " + resource
}

func verb(r *http.Request, named bool) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodGet:
		switch watch := r.URL.Query().Get("watch"); {
		case watch == "true" || watch == "1":
			return "watch"
		case !named:
			return "list"
		}
	}
	return strings.ToLower(r.Method)
}
