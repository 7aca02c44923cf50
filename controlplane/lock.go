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

	"golang.org/x/sys/unix"
)

// LockedError reports that another process serves from the data folder.
type LockedError struct {
	DataDir string // the folder asked for
	PID     int    // the process that holds its lock, 0 when it did not say
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data folder %s is in use by another process", e.DataDir)
	}
	return fmt.Sprintf("data folder %s is in use by process %d", e.DataDir, e.PID)
}

// Holder returns the process that holds the lock of a data folder, and false when nobody does. It asks the kernel, so a
// file left behind by a killed server does not mislead it. The pid is 0 in the instant in which a holder starts.
func Holder(dataDir string) (pid int, ok bool) {
	f, err := os.Open(lockPath(dataDir))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	// A shared lock can be had by several askers at once, so asking never makes a server fail to start for long; it is
	// released with the file.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	return readPID(f), true
}

func lockPath(dataDir string) string { return filepath.Join(dataDir, "lock") }

// readPID returns the process id written in a lock file, 0 when there is none.
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
