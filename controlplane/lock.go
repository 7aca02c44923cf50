// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError reports that another process serves from the data folder.
type LockedError struct {
	DataDir string // the folder asked for
	PID     int    // the process that holds its lock, 0 if unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data folder %s is in use by another process", e.DataDir)
	}
	return fmt.Sprintf("data folder %s is in use by process %d", e.DataDir, e.PID)
}

// Holder returns the process that holds the lock of a data folder, and false if the folder is not locked. It asks the kernel, so a file
// left behind by a killed server does not count. The pid is 0 for an instant while the holder starts.
func Holder(dataDir string) (pid int, ok bool) {
	f, err := os.Open(lockPath(dataDir))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	// Several callers can have a shared lock at once; it is released with the file.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	return readPID(f), true
}

func lockPath(dataDir string) string { return filepath.Join(dataDir, "lock") }

// readPID returns the process id in a lock file, 0 if there is none.
func readPID(r io.Reader) int {
	text, err := io.ReadAll(io.LimitReader(r, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// lock is held from the start of Run to its end.
type lock struct{ file *os.File }

// acquireLock takes the lock of a data folder and writes this process's id into it. A LockedError names the holder.
func acquireLock(dataDir string) (*lock, error) {
	f, err := os.OpenFile(lockPath(dataDir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	if err := flockExclusive(f); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &LockedError{DataDir: dataDir, PID: readPID(f)}
		}
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("writing process id: %w", err), f.Close())
	}
	return &lock{file: f}, nil
}

// flockExclusive retries, since Holder takes a shared lock for a moment.
func flockExclusive(f *os.File) error {
	var err error
	for range 5 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		<-time.After(2 * time.Millisecond)
	}
	return err
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// release empties the file first, so that a shared lock of Holder is never mistaken for the server's.
func (l *lock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}
