// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readyPoll is the interval at which a starting server is checked.
	readyPoll = 25 * time.Millisecond
	// shutdownTimeout is how long an orderly shutdown may take.
	shutdownTimeout = 30 * time.Second
	// killAfter is how long a process that was signalled may take to end before it is killed.
	killAfter = 5 * time.Second
)

// Signals maps the name of a program to the signal that ends it.
type Signals map[string]unix.Signal

// Folder is the folder of one server:
//
//	<folder>/            0711, owned by this process's account
//	<folder>/server.log  the server's output
//	<folder>/data/       0700, owned by the server's account
type Folder struct {
	// Path is absolute and free of symbolic links. The folder need not exist.
	Path string
	// Owner is the account that will own the data.
	Owner Account
	// End ends each program that may run in the folder without loss of data.
	End Signals
	// Discard is End for data that is about to be deleted.
	Discard Signals
}

// Data returns the path of the data.
func (f *Folder) Data() string { return filepath.Join(f.Path, "data") }

func (f *Folder) log() string { return filepath.Join(f.Path, "server.log") }

// HasData reports whether the data exists. It is complete then, since CreateData renames it into place.
func (f *Folder) HasData() (bool, error) {
	_, err := os.Stat(f.Data())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CreateData creates the data, which must not exist. fill fills the folder at path, which the owner of the data owns.
func (f *Folder) CreateData(fill func(path string) error) error {
	if err := os.MkdirAll(f.Path, 0o711); err != nil {
		return err
	}
	if err := os.Chmod(f.Path, 0o711); err != nil { // The umask may have removed access for the server's account.
		return err
	}
	unfinished := f.Data() + ".new"
	if err := os.MkdirAll(unfinished, 0o700); err != nil {
		return err
	}
	if err := f.Owner.Own(unfinished); err != nil {
		return err
	}
	if err := fill(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, f.Data())
}

// DataOwner returns the account that owns the data: the server must run as this one.
func (f *Folder) DataOwner() (Account, error) { return ownerOf(f.Data()) }

// Clear ends every server process that works in the folder and keeps the data.
func (f *Folder) Clear(ctx context.Context) error { return endIn(ctx, f.Path, f.End) }

// Remove ends every server process that works in the folder and deletes it.
func (f *Folder) Remove(ctx context.Context) error {
	if err := endIn(ctx, f.Path, f.Discard); err != nil {
		return err
	}
	if err := os.RemoveAll(f.Path); err != nil {
		return fmt.Errorf("removing data: %w", err)
	}
	return nil
}

// Server is a running server of a folder. Close leaves it running.
type Server struct {
	*Process
	folder   *Folder
	logStart int64 // offset in the log at which the output since Start or Adopt begins
}

// Start starts a server in the folder, as the owner of the data, and returns before it is ready.
func (f *Folder) Start(cmd *exec.Cmd) (*Server, error) {
	owner, err := f.DataOwner()
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	log, logStart, err := openLog(f.log())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	defer log.Close() // Only the server writes to it.
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = f.Path, owner.Attributes(), log, log
	p, err := Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	return &Server{Process: p, folder: f, logStart: logStart}, nil
}

// Adopt returns the server that an earlier cloud started as p.
func (f *Folder) Adopt(p *Process) *Server {
	return &Server{Process: p, folder: f, logStart: logSize(f.log())}
}

// AwaitReady returns nil as soon as isReady returns true. It fails when the server ends, with the last cause in its log, which
// follows one of the marks, or when ctx ends.
func (s *Server) AwaitReady(ctx context.Context, isReady func(context.Context) bool, marks ...string) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for !isReady(ctx) {
		select {
		case <-s.Exited():
			return fmt.Errorf("server ended while starting: %s", LastCause(logSince(s.folder.log(), s.logStart), marks...))
		case <-ctx.Done():
			return fmt.Errorf("waiting for server to accept connections: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// Shutdown ends the server in an orderly way, by the signal that asks for it, and closes it. After a timeout it ends the
// server by Clear.
func (s *Server) Shutdown(ctx context.Context, sig unix.Signal) error {
	if err := s.Signal(sig); err != nil && !errors.Is(err, ErrEnded) {
		return fmt.Errorf("stopping server: %w", err)
	}
	orderly, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if s.Wait(orderly) != nil {
		if err := s.folder.Clear(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
		if err := s.Wait(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
	}
	s.Close()
	return nil
}
