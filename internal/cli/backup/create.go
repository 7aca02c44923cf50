// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// Options of Create.
type Options struct {
	Version string             // of this program
	Skip    []string           // instances of the local cloud that are not restored
	Waits   func(cause string) // is called with an instance of the local cloud that cannot be copied yet, and the cause
}

// Create writes a backup of the running server of a data folder. The file, with mode 0600, appears when it is complete and verified.
func Create(ctx context.Context, dataDir, path string, o Options) (m Manifest, err error) {
	defer func() { err = interrupted(ctx, err) }()
	if err := checkTarget(ctx, path, len(o.Skip) > 0); err != nil {
		return m, err
	}
	work, remove, err := newFolder(path)
	if err != nil {
		return m, err
	}
	defer remove()
	file, err := os.OpenFile(filepath.Join(work, "archive"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	defer file.Close()
	w, err := newWriter(ctx, &target{File: file, reserve: reserveIn(work, dataDir), free: func() (uint64, error) {
		free, _, err := controlplane.LowSpace(work)
		return free, err
	}})
	if err != nil {
		return m, err
	}
	m = Manifest{Format: format, Created: time.Now().UTC().Truncate(time.Second), Version: o.Version, Hosts: datadir.HostNames(), Skipped: o.Skip}
	if m.Original, err = controlplane.ReadIdentity(dataDir); err != nil {
		return m, err
	}
	source, err := controlplane.NewBackup(dataDir)
	if err != nil {
		return m, err
	}
	defer source.Close()
	if err := addStore(ctx, w, source, dataDir, filepath.Join(work, "snapshot")); err != nil {
		return m, fmt.Errorf("copying store: %w", err)
	}
	if m.Cloud, err = addCloud(ctx, w, datadir.CloudDir(dataDir), o); err != nil {
		return m, err
	}
	if err := addSurvivors(ctx, w, source, filepath.Join(work, "objects")); err != nil {
		return m, fmt.Errorf("listing objects: %w", err)
	}
	if err := w.finish(m); err != nil {
		return m, fmt.Errorf("writing %s: %w", path, err)
	}
	if m, err = Verify(ctx, file.Name()); err != nil {
		return m, err
	}
	return m, errors.Join(os.Rename(file.Name(), path), syncFolder(filepath.Dir(path)))
}

func addStore(ctx context.Context, w *writer, source *controlplane.Backup, dataDir, temporary string) error {
	keys, err := source.Keys()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.addFile(filepath.ToSlash(key), filepath.Join(dataDir, key)); err != nil {
			return err
		}
	}
	size, err := source.Size()
	if err == nil {
		err = w.file.checkSpace(2 * uint64(size)) // the snapshot, and the same in the archive
	}
	if err != nil {
		return err
	}
	if err := source.Snapshot(ctx, temporary); err != nil {
		return err
	}
	return w.addFile(snapshotName, temporary)
}

// addCloud returns the URL of the local cloud, empty if there is none.
func addCloud(ctx context.Context, w *writer, dir string, o Options) (string, error) {
	url, err := favouritecloud.ReadEndpoint(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "admin.token")); err == nil {
			return "", errors.New("the local cloud is down, so its servers cannot be copied: start it with bowline up")
		}
		if len(o.Skip) > 0 {
			return "", errors.New("there is no local cloud with instances to skip: remove --skip")
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	token, err := favouritecloud.ReadAdminToken(dir)
	if err != nil {
		return "", err
	}
	files, err := sdk.StartBackup(ctx, url, token, o.Skip...)
	if err != nil {
		return "", fmt.Errorf("copying the local cloud: %w", err)
	}
	defer files.Close()
	files.Waits = o.Waits
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return url, nil
		}
		if err == nil {
			name := cloudPrefix + header.Name
			err = w.add(&tar.Header{Name: name, Typeflag: header.Typeflag, Mode: header.Mode, Size: header.Size}, files)
		}
		if err != nil {
			return "", fmt.Errorf("copying the local cloud: %w", err)
		}
	}
}

func addSurvivors(ctx context.Context, w *writer, source *controlplane.Backup, temporary string) error {
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(source.Survivors(ctx, file), file.Close()); err != nil {
		return err
	}
	return w.addFile(survivorsName, temporary)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
