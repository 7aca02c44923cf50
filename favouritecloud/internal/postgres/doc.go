// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres runs PostgreSQL servers as processes of this machine.
//
// A Cluster is a host.Folder with the data of one server. All of its state is read from the folder and from /proc and never
// kept in memory: whether the data was initialized, whether a server runs and with which settings (postmaster.pid and the
// arguments of the process). So every operation may be interrupted anywhere and repeated, also by another process.
//
// Arguments, environments and logs contain no secrets.
package postgres
