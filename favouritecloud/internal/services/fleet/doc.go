// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the common part of services whose instances are servers on this machine.
//
// The desired state of an instance is a record in the store; its actual state is a folder and a process. A Fleet answers the API
// by changing records. One worker per record compares both and acts, one pass at a time: each pass reads everything again, may
// stop anywhere, and can be repeated, also by another process. No state is kept only in memory, so a cloud that was killed
// continues after its restart, and adopts the servers that still run.
//
// A service adds its record, which embeds a store.Instance, the validation of requests, and an Engine for its programs.
package fleet
