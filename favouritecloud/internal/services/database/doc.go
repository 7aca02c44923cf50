// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the cloud's database service: instances that are PostgreSQL servers. How it works is in package
// fleet; this one knows what a request may ask for, and how a server is made, changed and ended.
package database
