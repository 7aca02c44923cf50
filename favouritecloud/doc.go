// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package favouritecloud is a small real cloud: an HTTP/JSON API with projects, API keys, labels, idempotency keys and
// background provisioning, whose database instances are real PostgreSQL servers on this machine, and its caches real Redis
// servers. Its networks, subnets and node groups are on paper. It can be told to be slow, full, forgetful or silent: see Config.CloudAdmin.
//
// It is the vendor that the examples, tests and benchmarks of a control plane talk to, and knows nothing of one.
//
//	server, err := favouritecloud.New(favouritecloud.Config{DataDir: "/var/lib/favouritecloud"})
//	err = server.Run(ctx) // until ctx ends; server.Ready() and server.URL() say when and where it listens
//
// All state is in the data folder. When ctx ends the servers are stopped, and the next Run starts them again;
// when the process is killed they go on, and the next Run adopts them. README.md describes the API, package sdk is its
// client. It runs on Linux.
package favouritecloud
