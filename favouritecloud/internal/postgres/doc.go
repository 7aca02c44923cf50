// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres runs PostgreSQL servers as processes of this machine.
//
// A Cluster is a folder that holds the data of one server. Everything about it is read from the folder and from
// /proc, never remembered: whether the data was initialized (the folder data exists, which is renamed into place as
// the last act), whether a server runs and with which settings (postmaster.pid and its arguments). So every operation
// may be cut short anywhere and repeated, also by another process.
//
//	<folder>/            0711, owned by this process's user
//	<folder>/server.log  what the server printed
//	<folder>/data/       0700, owned by the server's account
//
// Servers live in a session of their own and outlive this process. Nothing secret is put into arguments,
// environments or logs.
package postgres
