// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// interruptible is a reader that ends with its context.
type interruptible struct {
	io.Reader
	ctx context.Context
}

func (i interruptible) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.Reader.Read(b)
}

// interrupted replaces the consequences of a signal by their cause, unless something could not be undone.
func interrupted(ctx context.Context, err error) error {
	if _, left := errors.AsType[*leftError](err); err == nil || left || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted; nothing is left of it: %w", ctx.Err())
}

// unfinished is in the names of the folders in which backups are written. They are locked meanwhile.
const unfinished = ".unfinished-backup-"

// newFolder creates a folder beside the file of a backup, and removes those that killed backups to the same file left.
func newFolder(path string) (folder string, remove func(), err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s exists and is not a regular file: name another file, or one in this folder", path)
	}
	parent, prefix := filepath.Dir(path), "."+filepath.Base(path)+unfinished
	entries, _ := os.ReadDir(parent) // a folder that cannot be listed may be writable
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		left := filepath.Join(parent, entry.Name())
		if lock, err := lockFolder(left); err == nil {
			if err := errors.Join(os.RemoveAll(left), lock.Close()); err != nil {
				return "", nil, fmt.Errorf("removing what a killed backup left: %w", err)
			}
		}
	}
	if folder, err = os.MkdirTemp(parent, prefix+"*"); err != nil {
		return "", nil, err
	}
	lock, err := lockFolder(folder)
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(folder))
	}
	return folder, func() {
		_ = errors.Join(os.RemoveAll(folder), lock.Close()) // what is left is removed by the next backup
	}, nil
}

func lockFolder(path string) (*os.File, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

const (
	spaceReserve = 512 << 20 // bytes that a backup leaves free on the disk of the control plane
	spaceStep    = 16 << 20  // bytes between two checks
)

// reserveIn returns the bytes that a backup in a folder leaves free: none on a disk of its own.
func reserveIn(folder, dataDir string) uint64 {
	var own, data unix.Stat_t
	if errors.Join(unix.Stat(folder, &own), unix.Stat(dataDir, &data)) == nil && own.Dev != data.Dev {
		return 0
	}
	return spaceReserve
}

// A target is the file of an archive. Writes to it leave space on the disk.
type target struct {
	*os.File
	reserve   uint64
	free      func() (uint64, error)
	unchecked int
}

func (t *target) Write(b []byte) (int, error) {
	if t.unchecked += len(b); t.unchecked >= spaceStep {
		if err := t.checkSpace(0); err != nil {
			return 0, err
		}
		t.unchecked = 0
	}
	return t.File.Write(b)
}

// checkSpace refuses to write needed bytes if they would fill the disk.
func (t *target) checkSpace(needed uint64) error {
	free, err := t.free()
	if err == nil && free < needed+t.reserve {
		err = fmt.Errorf("%s has %d MB of free space: a backup needs %d MB at least, %d of which stay free. Free some, or name a file on another disk",
			filepath.Dir(filepath.Dir(t.Name())), free>>20, (needed+t.reserve)>>20, t.reserve>>20)
	}
	return err
}
