// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"log/slog"
)

// errServerDied is a failure that a restart repairs.
var errServerDied = errors.New("the server ended unexpectedly; restarting it")

// A Server manages the server of one instance, whose record is an R. Its methods are called one at a time. NewServer implements
// it for an Engine.
type Server[R any] interface {
	// Running reports whether the server runs, and adopts it if an earlier cloud started it.
	Running(ctx context.Context, record R) (bool, error)
	// Provide makes sure that the server runs as the record requires and accepts connections. If the server ended since the last
	// call, it fails once and starts nothing. ctx also ends when the instance is to be deleted.
	Provide(ctx context.Context, record R) (Seen, error)
	// Exited is closed when the server that is known to run has ended; nil when none is.
	Exited() <-chan struct{}
	// Stop ends the server in an orderly way and keeps its data, also after an interrupted Provide.
	Stop(ctx context.Context) error
	// Remove ends the server, not necessarily in an orderly way, and deletes its folder.
	Remove(ctx context.Context) error
}

// Seen is the observed state of a server that accepts connections.
type Seen struct {
	// Version is the version of the programs.
	Version string
	// Port is the port of the server.
	Port int
}

// A Site is what a Server needs of its fleet.
type Site[R any] struct {
	// Folder is the server's own folder. It need not exist.
	Folder string
	// Update changes the record of the instance and returns the result. The error is store.ErrNotFound when there is none.
	Update func(change func(*R)) (R, error)
	// ChoosePort assigns the instance a port that is free and that no other instance has.
	ChoosePort func() (int, error)
	// Log receives the events of the instance.
	Log *slog.Logger
}
