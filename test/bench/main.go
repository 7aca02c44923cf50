// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of creating, keeping, updating and deleting many managed resources, and that of the least
// possible requests to the same API server. It prints figures and fails on none.
//
//	make bench N=5000 JSON=after.json
//	go run ./test/bench compare before.json after.json
//
// The API server is `bowline apiserver`, in a process of its own. The controllers are `bowline controllers`, in a process
// of their own too: this program started once more as that command, with package provider as its only provider and
// counters around its connections (controllers.go). The harness creates the objects while the controllers run, and reads
// from a watch when each is done (objects.go). The floor is a bare client that sends only the requests that every
// creation needs, one object after the other in each worker (floor.go).
//
// Processor time and memory come from the kernel (Linux only). The figure "everything else: CPU seconds" is the other load of the
// machine, which distorts the rest.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if settings := os.Getenv(settingsVariable); settings != "" {
		os.Exit(runControllers(settings))
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}
