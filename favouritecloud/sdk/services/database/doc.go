// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the client of the favourite cloud's database service, whose instances are PostgreSQL servers.
//
//	c := database.NewClient(client)
//	created, err := c.Create(ctx, database.CreateInstanceInput{Name: "orders", FancinessLevel: 100})
//	… wait until Get returns StatusOnline …
//	dsn := created.URL(created.Password)
//
// The package also has the JSON types of the service, which the cloud uses too.
package database
