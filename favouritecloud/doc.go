// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package favouritecloud is a small real cloud: an HTTP/JSON API with projects, API keys, labels, idempotency keys and
// background provisioning. Its database instances are real PostgreSQL servers on this machine, its caches real Redis servers. Its
// networks, subnets and node groups are records only. It can inject faults: see Config.CloudAdmin.
//
// It is the external system of the examples, tests and benchmarks of a control plane, and does not depend on one.
//
//	server, err := favouritecloud.New(favouritecloud.Config{DataDir: "/var/lib/favouritecloud"})
//	err = server.Run(ctx) // until ctx ends; server.Ready() is closed when server.URL() answers
//
// All state is in the data folder. When ctx ends, the servers are stopped, and the next Run starts them again. When the process is
// killed, they continue to run, and the next Run adopts them. README.md describes the API, package sdk is its client. It runs on Linux.
package favouritecloud
