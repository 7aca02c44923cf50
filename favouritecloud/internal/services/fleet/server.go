// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"log/slog"
)

// States of an instance, as the API shows them.
const (
	// StatusCreating: the server is being made.
	StatusCreating = "CREATING"
	// StatusOnline: the server accepts connections.
	StatusOnline = "ONLINE"
	// StatusUpdating: a change is being applied.
	StatusUpdating = "UPDATING"
	// StatusDeleting: the server and its data are being removed.
	StatusDeleting = "DELETING"
	// StatusFailed: the server is down, or not as it should be.
	StatusFailed = "FAILED"
)

// ErrServerDied is the reason of a failure that a restart mends.
var ErrServerDied = errors.New("the server ended unexpectedly; restarting it")

// A Server looks after the server of one instance, whose record is an R. Its methods are called one at a time.
type Server[R any] interface {
	// Running reports whether the server runs, and adopts it if an earlier cloud started it.
	Running(ctx context.Context, record R) (bool, error)
	// Provide makes sure that the server runs as the record wants and accepts connections. If it ended since the last call,
	// the error is ErrServerDied, once. ctx also ends when the instance is to be deleted.
	Provide(ctx context.Context, record R) (Seen, error)
	// Exited is closed when the server that is known to run has ended; nil when none is.
	Exited() <-chan struct{}
	// Stop ends the server in an orderly way and keeps its data, also when an interrupted Provide left it half started.
	Stop(ctx context.Context) error
	// Remove ends the server and deletes its folder. It need not be orderly.
	Remove(ctx context.Context) error
}

// Seen is what a Server learned of a server that accepts connections.
type Seen struct {
	// Version is that of the programs.
	Version string
	// Port is where the server listens.
	Port int
}

// A Site is where a Server is built.
type Site[R any] struct {
	// Folder is the server's own. It need not exist.
	Folder string
	// Update changes the instance's record and returns the result. The error is store.ErrNotFound when it is gone.
	Update func(change func(*R)) (R, error)
	// ChoosePort gives the instance a port that is free and that no other instance has, and records it.
	ChoosePort func() (int, error)
	// Log hears of what happens to the instance.
	Log *slog.Logger
}
