// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache is the client of the favourite cloud's cache service, whose instances are Redis servers.
//
//	c := cache.NewClient(client)
//	created, err := c.Create(ctx, cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 64})
//	… wait until Get returns StatusOnline …
//	url := created.URL(created.Password)
//
// The package also has the JSON types of the service, which the cloud uses too.
package cache
