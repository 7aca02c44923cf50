// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	copyPrefix   = "backup-"       // of the folders beside the data that have copies of it
	copyPatience = 2 * time.Minute // for a server that is restarted meanwhile
	copyRetry    = time.Second
	copyReserve  = 512 << 20 // bytes that a copy leaves free: servers and control plane on the same disk continue to write
)

// Backup copies the data of every server, while it runs, and calls save with the folder of the server and that of the copy. Instances
// that are being created have no data yet, and those that are being deleted need none. Of those to skip, only the records are copied,
// which Restored removes. While a server cannot be copied, waits is called once, with its name and the cause.
func (f *fleet[Spec]) Backup(ctx context.Context, skip []string, save func(folder, data string) error, waits func(cause string) error) error {
	records, err := f.all()
	if err != nil {
		return err
	}
	for _, r := range records {
		if slices.Contains(skip, f.path(r)) {
			continue
		}
		if err := f.copyServer(ctx, r, save, waits); err != nil {
			return fmt.Errorf("copying the data of %s: %w: repair it, or back up without it by --skip %[1]s", f.path(r), err)
		}
	}
	return nil
}

// Paths returns the names of all instances for --skip.
func (f *fleet[Spec]) Paths() (paths []string, err error) {
	records, err := f.all()
	for _, r := range records {
		paths = append(paths, f.path(r))
	}
	return paths, err
}

// path names an instance for --skip.
func (f *fleet[Spec]) path(r Record[Spec]) string {
	return f.servers.Prefix[:len(f.servers.Prefix)-1] + "/" + r.Project + "/" + r.Name
}

func (f *fleet[Spec]) copyServer(ctx context.Context, r Record[Spec], save func(folder, data string) error, waits func(cause string) error) error {
	w := newWorker(f, r, ctx)
	defer w.interrupt()
	target := filepath.Join(w.folder.Path, copyPrefix+rand.Text()) // the program of an earlier cloud may still write its copy
	defer os.RemoveAll(target)
	reported := false
	for deadline := time.Now().Add(copyPatience); ; {
		now, err := f.get(r.Project, r.Name)
		if errors.Is(err, store.ErrNotFound) || err == nil && (now.ID != r.ID || now.Status == sdk.StatusDeleting || now.Status == sdk.StatusCreating) {
			return nil
		}
		if err == nil {
			err = errors.Join(w.folder.EmptyFolder(target), f.checkSpace(w.folder))
		}
		if err == nil {
			err = w.driver.Backup(ctx, now, target)
		}
		if err == nil {
			err = w.folder.WriteMark(target)
		}
		if err == nil {
			return save(filepath.Base(w.folder.Path), target)
		}
		if free, _ := f.free(w.folder.Path); free < copyReserve || errors.Is(err, unix.ENOSPC) || time.Now().After(deadline) {
			return err
		}
		if !reported && waits(f.path(r)+": "+err.Error()) != nil { // the reader of the copy is gone
			return err
		}
		reported = true
		select {
		case <-time.After(copyRetry):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// checkSpace refuses to copy the data of a server if the copy would fill the disk. The error is ENOSPC.
func (f *fleet[Spec]) checkSpace(folder *host.Folder) error {
	size, err := folder.DataSize()
	if err != nil {
		return err
	}
	free, err := f.free(folder.Path)
	if err == nil && free < size+copyReserve {
		err = fmt.Errorf("the copy needs %d MB, and %d MB must stay free, but %s has %d MB: %w",
			size>>20, copyReserve>>20, folder.Path, free>>20, unix.ENOSPC)
	}
	return err
}

// Failed returns an error with each instance that is down: a backup needs all but those to skip.
func (f *fleet[Spec]) Failed(skip []string) error {
	records, err := f.all()
	for _, r := range records {
		if r.Status == sdk.StatusFailed && !slices.Contains(skip, f.path(r)) {
			err = errors.Join(err, fmt.Errorf("%s %q of project %q is %s: %s: repair or delete it, or back up without it by --skip %s",
				string(f.Records), r.Name, r.Project, r.Status, r.Message, f.path(r)))
		}
	}
	return err
}

// removeCopies removes what a backup of a killed cloud has left in the folder of a server.
func removeCopies(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), copyPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// Restored adjusts the records after a restore. It removes those of instances that were deleted while the backup was made, and calls
// moved with the ports that instances lose, because they are taken or keepPorts is false.
func (f *fleet[Spec]) Restored(keepPorts bool, moved func(from, to int)) error {
	records, err := f.all()
	if err != nil {
		return err
	}
	taken := map[int]bool{}
	for _, r := range records {
		taken[r.Port] = true
	}
	for _, r := range records {
		exists, err := f.folder(f.folderName(r.ID)).HasData()
		if err != nil {
			return err
		}
		if !exists && r.Status != sdk.StatusCreating && r.Status != sdk.StatusDeleting {
			err = f.Store.Write(func(tx *store.Tx) error { return f.remove(tx, r) })
		} else if former := r.Port; former != 0 && (!exists || !keepPorts || !host.IsFree(former)) {
			if r.Port = 0; exists { // else a port is chosen after the data is created
				if r.Port, err = f.servers.Ports.Free(func(port int) bool { return taken[port] }); err != nil {
					return err
				}
				taken[r.Port] = true
				moved(former, r.Port)
			}
			err = f.Store.Write(func(tx *store.Tx) error { return f.put(tx, r) })
		}
		if err != nil {
			return fmt.Errorf("adjusting instance %q: %w", r.Name, err)
		}
	}
	return nil
}
