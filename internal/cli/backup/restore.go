// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// Restore creates a data folder from a verified archive. Until it has succeeded, no server uses the folder. The control plane gets an
// identity of its own; its servers get other ports if the original still exists on this machine.
func Restore(ctx context.Context, path, dataDir string) (m Manifest, moved datadir.Restored, err error) {
	defer func() { err = interrupted(ctx, err) }()
	if m, err = Verify(ctx, path); err != nil {
		return m, moved, err
	}
	if err := refuseInside(dataDir); err != nil {
		return m, moved, err
	}
	abort := func() error {
		if err := errors.Join(favouritecloud.Remove(datadir.CloudDir(dataDir)), controlplane.AbortRestore(dataDir)); err != nil {
			return errors.Join(&leftError{dataDir}, err)
		}
		return nil
	}
	release, err := controlplane.BeginRestore(dataDir, abort)
	if err != nil {
		return m, moved, err
	}
	defer func() { err = errors.Join(err, release()) }()
	moved = datadir.Restored{Cloud: m.Cloud, Hosts: m.Hosts}
	if err = extract(ctx, path, dataDir, m, &moved); err == nil {
		err = moved.Write(dataDir)
	}
	if err == nil {
		err = controlplane.EndRestore(dataDir)
	}
	if err != nil {
		err = errors.Join(abort(), err)
	}
	return m, moved, err
}

// refuseInside refuses to restore into the data folder of another control plane: it would be lost with that.
func refuseInside(dataDir string) error {
	if resolved, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = resolved
	}
	if outer, err := datadir.Containing(filepath.Dir(dataDir)); err != nil || outer != "" {
		return cmp.Or(err, fmt.Errorf("%s is in data folder %s, and would be lost with it: choose an empty folder elsewhere with --data-dir",
			dataDir, outer))
	}
	return nil
}

// A leftError reports that a restore failed and could not be undone.
type leftError struct{ folder string }

func (e *leftError) Error() string {
	return fmt.Sprintf("%s has parts of an unfinished restore: repeat the restore, or delete them", e.folder)
}

func extract(ctx context.Context, path, dataDir string, m Manifest, moved *datadir.Restored) error {
	r, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer r.file.Close() // only read
	snapshot, survivors := filepath.Join(dataDir, "restore.snapshot"), filepath.Join(dataDir, "restore.objects")
	for header, err := r.Next(); !errors.Is(err, io.EOF); header, err = r.Next() {
		if err == nil && strings.HasPrefix(header.Name, cloudPrefix) {
			files := &cloudFiles{reader: r, first: header}
			var cloud favouritecloud.Restored
			config := favouritecloud.Config{DataDir: datadir.CloudDir(dataDir)}
			if cloud, err = favouritecloud.Restore(config, files, !m.Original.Exists()); err == nil {
				moved.Ports = cloud.Ports
				header = files.after
			}
		}
		if err == nil && header != nil {
			err = extractOwn(dataDir, header, r, map[string]string{snapshotName: snapshot, survivorsName: survivors})
		}
		if err != nil {
			return fmt.Errorf("restoring: %w", err)
		}
	}
	list, err := os.Open(survivors)
	if err != nil {
		return err
	}
	defer list.Close() // only read
	if err := controlplane.RestoreStore(ctx, dataDir, snapshot, list); err != nil {
		return err
	}
	return errors.Join(os.Remove(snapshot), os.Remove(survivors))
}

// extractOwn writes an entry of the control plane to its place in renamed, else in the data folder.
func extractOwn(dataDir string, header *tar.Header, content io.Reader, renamed map[string]string) error {
	target, ok := renamed[header.Name]
	if header.Name == manifestName {
		return nil
	}
	if !ok {
		local := filepath.FromSlash(header.Name)
		if !filepath.IsLocal(local) {
			return fmt.Errorf("the name %q is not valid", header.Name)
		}
		target = filepath.Join(dataDir, local)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fs.FileMode(header.Mode).Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Sync(), file.Close())
}

// cloudFiles are the entries of the local cloud, which follow each other.
type cloudFiles struct {
	*reader
	first *tar.Header // read already
	after *tar.Header // the entry that follows them, nil at the end of the archive
}

func (c *cloudFiles) Next() (*tar.Header, error) {
	header := c.first
	if c.first = nil; header == nil {
		var err error
		if header, err = c.reader.Next(); err != nil {
			return nil, err
		}
	}
	name, ok := strings.CutPrefix(header.Name, cloudPrefix)
	if !ok {
		c.after = header
		return nil, io.EOF
	}
	named := *header
	named.Name = strings.TrimSuffix(name, "/")
	return &named, nil
}
