// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the cloud's database service, whose instances are PostgreSQL servers. Package fleet has the common part of
// such services; this one validates requests and knows how a PostgreSQL server is created, changed and stopped.
package database
