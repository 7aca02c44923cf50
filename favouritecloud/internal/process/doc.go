// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process finds, watches and signals processes that may not be children of this one.
//
// A pid alone proves nothing, since pids are reused. A Process is therefore a pidfd: it stays bound to one process,
// and becomes readable when that one ends. What /proc tells about a pid is believed only while the pidfd opened
// before still is alive.
package process
