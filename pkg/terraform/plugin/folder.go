// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// folderPrefix begins the names of the folders of processes, in the folder for temporary files.
	folderPrefix = "bowline-tf-"
	// lockName is the file in each that is locked while a process uses the folder.
	lockName = "bowline.lock"
)

// newFolder makes the folder of a process, which may get files with credentials. The lock is passed on to the process, so that it is held as
// long as that or this process lives.
func newFolder() (folder string, lock *os.File, err error) {
	if folder, err = os.MkdirTemp("", folderPrefix); err == nil {
		lock, err = lockFolder(folder, os.O_CREATE)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("making a folder for the provider: %w", err), os.RemoveAll(folder))
	}
	return folder, lock, nil
}

func lockFolder(folder string, flag int) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// RemoveLeftFolders removes the folders, with their files, of processes that ended with the controllers that started them, as after a
// kill -9. Call it when controllers start. Those of other users, and of processes that run, stay.
func RemoveLeftFolders() error {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return fmt.Errorf("looking for folders of earlier providers: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.IsDir() || !strings.HasPrefix(entry.Name(), folderPrefix) {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
			continue
		}
		folder := filepath.Join(os.TempDir(), entry.Name())
		lock, err := lockFolder(folder, 0)
		if err != nil {
			continue // in use, or just being made
		}
		errs = append(errs, os.RemoveAll(folder), lock.Close())
	}
	return errors.Join(errs...)
}
