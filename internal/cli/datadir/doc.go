// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datadir finds the folder in which a server keeps all its state, and names the files in it.
//
//	flag := &datadir.Flag{}
//	flag.AddFlags(cmd.PersistentFlags())
//	dir, err := flag.Running() // errors say what to type next
//
// A command that runs a server uses the flag, the environment or the default of this user. A command that is a client also
// finds the only server of this user that runs, by a registry of servers (registry.go). Whether a server runs is decided by
// the lock of its data folder and by nothing else.
package datadir
