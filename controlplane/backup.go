// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// A Backup reads the state of a running server on this machine through its data folder.
type Backup struct {
	dataDir string
	store   *etcd.Client
}

// NewBackup returns a backup of the server of a data folder. Close ends it.
func NewBackup(dataDir string) (*Backup, error) {
	kubernetesLog() // discards the log of gRPC
	store, err := etcd.NewClient(dataDir)
	return &Backup{dataDir: dataDir, store: store}, err
}

// Close ends the backup.
func (b *Backup) Close() error { return b.store.Close() }

// KeysFolder is the folder of keys and certificates in a data folder.
const KeysFolder = "pki"

// IsDataFolder reports whether a folder is that of a control plane, which was started once, restored, or is just being restored.
func IsDataFolder(folder string) bool {
	own, _ := ReadIdentity(folder)
	_, noStore := os.Stat(etcd.DatabasePath(folder))
	_, noKeys := os.Stat(filepath.Join(folder, KeysFolder)) // the parent of another program's etcd has none
	return own.ID != "" || noStore == nil && noKeys == nil || IsUnfinished(folder)
}

// Keys returns the files of keys and certificates, relative to the data folder. A file of encryption keys outside of it is not among them.
func (b *Backup) Keys() (files []string, err error) {
	keys := &pki.PKI{Dir: filepath.Join(b.dataDir, KeysFolder)}
	for _, needed := range []string{keys.AuthorityPath(), keys.AuthorityKeyPath(), keys.ServingPath(), keys.SigningPath()} {
		if _, err := os.Stat(needed); err != nil {
			return nil, fmt.Errorf("reading keys: %w", err)
		}
	}
	entries, err := os.ReadDir(keys.Dir) // a pattern would not match a path with characters of patterns
	for _, entry := range entries {
		files = append(files, filepath.Join(KeysFolder, entry.Name()))
	}
	if _, statErr := os.Stat(encryptionPath(b.dataDir)); statErr == nil {
		files = append(files, filepath.Base(encryptionPath(b.dataDir)))
	}
	return files, err
}

// Size returns the size of the store in bytes. That of a snapshot is a little less or the same.
func (b *Backup) Size() (int64, error) {
	info, err := os.Stat(etcd.DatabasePath(b.dataDir))
	if err != nil {
		return 0, fmt.Errorf("reading size of store: %w", err)
	}
	return info.Size(), nil
}

// Snapshot writes the store as it is now to a new file. Take it before the data of external systems, and Survivors after.
func (b *Backup) Snapshot(ctx context.Context, path string) error { return b.store.Snapshot(ctx, path) }

// Survivors writes which objects exist now, for RestoreStore.
func (b *Backup) Survivors(ctx context.Context, w io.Writer) error { return b.store.Survivors(ctx, w) }

// RestoreStore creates the store of a data folder from a snapshot, and deletes the objects that are not among the survivors.
func RestoreStore(ctx context.Context, dataDir, snapshot string, survivors io.Reader) error {
	return etcd.Restore(ctx, dataDir, snapshot, survivors)
}

func unfinishedPath(dataDir string) string { return filepath.Join(dataDir, "restore-unfinished") }

// IsUnfinished reports whether a folder has a restore that was interrupted.
func IsUnfinished(dataDir string) bool {
	_, err := os.Stat(unfinishedPath(dataDir))
	return err == nil
}

// BeginRestore makes a folder, which is empty or does not exist, one that no server uses before EndRestore. It holds the lock of the
// folder until release is called. abort removes what an interrupted restore left in the folder.
func BeginRestore(dataDir string, abort func() error) (release func() error, err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, err
	}
	if err := requireEmpty(dataDir); err != nil { // before a lock is created among other files
		return nil, err
	}
	lock, err := acquireLock(dataDir)
	if err != nil {
		return nil, err
	}
	if IsUnfinished(dataDir) {
		err = abort()
	}
	if err == nil {
		err = requireEmpty(dataDir) // another restore may have ended in between
	}
	if err == nil {
		err = errors.Join(os.Chmod(dataDir, 0o700), WriteFile(unfinishedPath(dataDir), nil))
	}
	if err != nil {
		return nil, errors.Join(err, releaseLock(lock))
	}
	return func() error { return releaseLock(lock) }, nil
}

// requireEmpty refuses a folder with files, other than a lock and an unfinished restore.
func requireEmpty(dataDir string) error {
	entries, err := os.ReadDir(dataDir)
	if err != nil || IsUnfinished(dataDir) {
		return err
	}
	for _, entry := range entries {
		if filepath.Join(dataDir, entry.Name()) != lockPath(dataDir) {
			return fmt.Errorf("%s is not empty: choose an empty folder with --data-dir", dataDir)
		}
	}
	return nil
}

// AbortRestore removes everything from a folder of an unfinished restore but the lock. The mark is the last.
func AbortRestore(dataDir string) error {
	entries, err := os.ReadDir(dataDir)
	for _, entry := range entries {
		if path := filepath.Join(dataDir, entry.Name()); path != unfinishedPath(dataDir) && path != lockPath(dataDir) {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return fmt.Errorf("removing an unfinished restore: %w", err)
	}
	return os.Remove(unfinishedPath(dataDir))
}

// EndRestore makes the folder one that a server may use.
func EndRestore(dataDir string) error { return os.Remove(unfinishedPath(dataDir)) }
