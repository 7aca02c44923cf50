// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
// left behind by a killed server does not count. The pid is 0 for an instant while the holder starts or stops.
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

func readPID(f *os.File) (pid int) {
	_, _ = fmt.Fscan(f, &pid) // the file is empty while the holder starts
	return pid
}

// acquireLock takes the lock of a data folder, which Run holds, and writes this process's id into it. A LockedError names the holder.
func acquireLock(dataDir string) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dataDir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	for range 5 { // Holder takes a shared lock for a moment
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		<-time.After(2 * time.Millisecond)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(&LockedError{DataDir: dataDir, PID: readPID(f)}, f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// releaseLock empties the file first, so that a shared lock of Holder is never mistaken for the server's.
func releaseLock(f *os.File) error { return errors.Join(f.Truncate(0), f.Close()) }
