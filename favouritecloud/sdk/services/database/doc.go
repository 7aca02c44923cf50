// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the client of the favourite cloud's database service, whose instances are PostgreSQL servers.
//
//	c := database.NewClient(client)
//	created, err := c.CreateInstance(ctx, database.CreateInstanceInput{Name: "orders", FancinessLevel: 100})
//	… until GetInstance reports StatusOnline …
//	dsn := created.URL(created.Password)
//
// The package also holds the JSON types of the service, which the cloud itself uses to answer.
package database
