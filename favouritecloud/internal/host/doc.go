// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs servers as processes of this machine: accounts, ports, folders, logs, processes.
//
// A Folder holds the data and the log of one server. Servers run in a session of their own and outlive this process, so a
// Process need not be a child. A pid alone proves nothing, since pids are reused: a Process is a pidfd, which stays bound to
// one process, and data of /proc is trusted only while a pidfd that was opened before it was read is still alive.
package host
