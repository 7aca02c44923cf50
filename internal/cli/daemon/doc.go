// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemon starts this program again in the background, and stops the server of a data folder.
//
//	welcome, err := daemon.Start(ctx, daemon.Command{Name: os.Args[0], Args: []string{"up"}, Log: path}) // in the foreground process
//	out, err := daemon.ReadyWriter(os.Stdout)                                                              // in the background one
//
// The background process writes its welcome when it is ready, through a pipe of which it finds the number in its environment;
// Start returns that text, or the end of the log if the process ends before.
package daemon
