// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause does nothing until it is stopped: the container that holds the network of a pod.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	<-stopped
}
