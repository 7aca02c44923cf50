// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane/internal/apiserver"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
)

// spaceForStart is what remains free after a start, for its own writes and those that follow until some is freed. A server that
// started with less would soon end at a write that fails. The first start of a folder creates objects, which needs more.
const spaceForStart = apiserver.SpaceForCreate / 8

// CheckSpace refuses a start for which the disk of a data folder has no space. Run does so itself, too.
func CheckSpace(dataDir string) error { return checkSpace(dataDir, freeSpace) }

func checkSpace(dataDir string, freeIn func(string) (uint64, error)) error {
	free, err := freeIn(dataDir)
	needed, isNew := etcd.StartSpace(dataDir)
	if isNew {
		needed += apiserver.SpaceForCreate
	} else {
		needed += spaceForStart
	}
	if err == nil && free < needed {
		err = fmt.Errorf("the disk of data folder %s is full: a start needs %d MB of free space, and there are %d MB. Free %d MB and start again; "+
			"no data is lost, and the servers of the local cloud that run continue to run", dataDir, needed>>20, free>>20, (needed-free+1<<20-1)>>20)
	}
	return err
}

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
