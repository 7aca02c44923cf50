// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane/internal/apiserver"
)

// LowSpace reports how many bytes are free on the disk of a data folder, and whether that is so little that the server refuses new
// objects. It permits them again when there is room.
func LowSpace(dataDir string) (free uint64, low bool, err error) {
	free, err = freeSpace(dataDir)
	return free, err == nil && free < apiserver.SpaceForCreate, err
}

func freeSpace(dataDir string) (uint64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dataDir, &disk); err != nil {
		return 0, fmt.Errorf("reading free space of %s: %w", dataDir, err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}
