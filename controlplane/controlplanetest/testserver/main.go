// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testserver is the control plane that the test binaries of one `go test` run share. It ends, and removes its
// folder, when the process it serves for ends. Package controlplanetest builds and starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest/internal/process"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	folder := flag.String("folder", "", "folder to remove in the end")
	data := flag.String("data", "", "data folder")
	ready := flag.String("ready", "", "file to make when the server is ready")
	owner := flag.String("for", "", "process to serve for, as PID-START")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if _, err := process.Alive(*owner); err != nil {
		return fmt.Errorf("flag -for: %w", err)
	}
	go wait.UntilWithContext(ctx, func(context.Context) {
		if alive, _ := process.Alive(*owner); !alive {
			cancel()
		}
	}, 250*time.Millisecond)
	defer func() { err = errors.Join(err, os.RemoveAll(*folder)) }()

	s, err := controlplane.New(controlplane.Config{
		DataDir: *data,
		Listen:  "127.0.0.1:0",
		NoSync:  true,
		Log:     logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-s.Ready():
			if err := os.WriteFile(*ready, nil, 0o600); err != nil {
				fmt.Fprintln(os.Stderr, "testserver: making ready file:", err)
				cancel()
			}
		case <-ctx.Done():
		}
	}()
	return s.Run(ctx)
}
