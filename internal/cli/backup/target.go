// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
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

// checkTarget refuses to write a backup into a data folder, with which it would be lost, and to replace what is no backup. A backup without
// all instances replaces none, which may have the last copy of their data.
func checkTarget(ctx context.Context, path string, skips bool) error {
	if inside, err := datadir.Containing(filepath.Dir(path)); err != nil || inside != "" {
		return cmp.Or(err, fmt.Errorf("%s is in data folder %s, and would be lost with it: name a file elsewhere, on another disk if there is one",
			path, inside))
	}
	info, err := os.Stat(path)
	switch {
	case err != nil: // new, or not possible, which its creation reports
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a regular file: name another file, or one in this folder", path)
	case info.Size() > 0 && !isBackup(ctx, path):
		return fmt.Errorf("%s exists and is not a backup: name another file, or delete it", path)
	case info.Size() > 0 && skips:
		return fmt.Errorf("%s exists, and is not replaced by a backup that leaves out data: name another file with --skip", path)
	}
	return nil
}

// isBackup is true for a file that begins as a backup does.
func isBackup(ctx context.Context, path string) bool {
	r, err := open(ctx, path)
	if err != nil {
		return false
	}
	defer r.file.Close() // only read
	first, err := r.Next()
	return err == nil && strings.HasPrefix(first.Name, controlplane.KeysFolder+"/")
}

// unfinished is in the names of the folders in which backups are written. They are locked meanwhile.
const unfinished = ".unfinished-backup-"

// newFolder creates a folder beside the file of a backup, and removes those that killed backups to the same file left.
func newFolder(path string) (folder string, remove func(), err error) {
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
