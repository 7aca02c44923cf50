// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is what services share whose instances are servers on this machine.
//
// What is wanted is a record in the store; what is real is a folder and a process. A Fleet answers the API by changing
// records. One worker per record compares and acts, one pass at a time: each pass reads everything afresh, may stop
// anywhere, and is safe to repeat, by this process or the next. Nothing is known only in memory, so a cloud that was
// killed continues where it was, and adopts the servers that went on without it.
//
// A service adds its record, which embeds a store.Instance, the rules for requests, and a Server that knows the programs.
package fleet
