// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest/internal/process"
)

type folder string

func (f folder) data() string  { return filepath.Join(string(f), "data") }
func (f folder) log() string   { return filepath.Join(string(f), "server.log") }
func (f folder) ready() string { return filepath.Join(string(f), "ready") } // created when the server is ready
func (f folder) lock() string  { return filepath.Join(string(f), "start.lock") }

func folderPrefix() string { return fmt.Sprintf("bowline-test-%d-", os.Getuid()) }

// openFolder creates or finds the folder of a run's server. It must belong to this user and be private, since any user can write to the
// temporary folder.
func openFolder(p process.Process) (folder, error) {
	path := filepath.Join(os.TempDir(), folderPrefix()+p.String())
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("creating server's folder: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("checking server's folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("server's folder %s belongs to another user", path)
	}
	return folder(path), nil
}

func removeStale() error {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix()+"*"))
	if err != nil {
		return fmt.Errorf("looking for old folders: %w", err)
	}
	for _, path := range found {
		p, err := process.Parse(strings.TrimPrefix(filepath.Base(path), folderPrefix()))
		if err != nil || p.Alive() || serves(folder(path)) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing old folder: %w", err)
		}
	}
	return nil
}

// serves reports whether a server uses the folder.
func serves(f folder) bool {
	lock, err := os.Open(filepath.Join(f.data(), "lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lockFile locks a file, and waits for the lock until ctx ends. Closing the file releases it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for lock %s: %w", path, ctx.Err()), f.Close())
		}
	}
}
