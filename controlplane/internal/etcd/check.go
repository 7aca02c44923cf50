// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// A DamagedError reports that the files of the store cannot be read.
type DamagedError struct {
	Path  string // of the damaged file or folder
	Cause error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged and was not changed: restore a backup into an empty folder with "+
		"bowline restore FILE --data-dir FOLDER; the cause is: %v", e.Path, e.Cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// damage returns a DamagedError unless the cause lies outside of the files, such as a full disk.
func damage(path string, cause error) error {
	if number, ok := errors.AsType[syscall.Errno](cause); ok && number != syscall.EIO || errors.Is(cause, bolterrors.ErrTimeout) {
		return cause
	}
	return &DamagedError{Path: path, Cause: cause}
}

// lockTimeout is how long a store that was just stopped may take to release its file.
const lockTimeout = 5 * time.Second

// DatabasePath returns the file of the store in a data folder.
func DatabasePath(dataDir string) string {
	return filepath.Join(dataDir, "etcd", "member", "snap", "db")
}

// EnsureFolder creates the folder of the store, and then the caller the file after. If the file exists, a missing folder was lost: with an
// empty one, the server would start without objects. Folders of earlier versions have no mark.
func EnsureFolder(dataDir, after string) error {
	folder := filepath.Join(dataDir, "etcd")
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(after); err == nil {
		return &DamagedError{Path: folder, Cause: fmt.Errorf("the folder is missing, but there is %s; if it was on a disk of its own, mount that disk",
			after)}
	}
	return os.MkdirAll(folder, 0o700)
}

func markPath(dataDir string) string { return filepath.Join(dataDir, "etcd-initialized") }

// emptySize is the size of a database without data: two pages of metadata, one of free pages and one of keys.
var emptySize = int64(4 * os.Getpagesize())

// check reads the whole store before etcd, which would end the process at the first page that it cannot read, drop the end of a damaged
// log with later writes, or wait for ever. It removes the files of a first start that was interrupted before the first write. A mark in
// the data folder records that the store was in use, so that a missing store is not replaced by an empty one. Folders of earlier
// versions have no mark, but entries in the log.
func check(dataDir string) error {
	member := filepath.Join(dataDir, "etcd", "member")
	log, database := filepath.Join(member, "wal"), DatabasePath(dataDir)
	last, err := lastEntry(log)
	if err != nil {
		return err
	}
	_, err = os.Stat(markPath(dataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	used := err == nil || last > 0
	info, err := os.Stat(database)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch missing := err != nil; {
	case !used && (missing || info.Size() < emptySize):
		return os.RemoveAll(member)
	case missing:
		return &DamagedError{Path: database, Cause: errors.New("the file is missing; if it was on a disk of its own, mount that disk")}
	}
	stored, err := checkDatabase(database, info.Size())
	if err != nil {
		return err
	}
	if !used && stored == 0 {
		return os.RemoveAll(member)
	}
	if last == 0 || last < stored {
		return &DamagedError{Path: log, Cause: fmt.Errorf("it ends at entry %d, and the database at entry %d", last, stored)}
	}
	return nil
}

// lastEntry returns the index of the last entry of the log, 0 if there is none.
func lastEntry(folder string) (last uint64, err error) {
	if !wal.Exist(folder) {
		return 0, nil
	}
	defer reportPanic(folder, &err)
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), folder)
	if err != nil || len(snapshots) == 0 {
		return 0, damage(folder, cmp.Or(err, wal.ErrSnapshotNotFound))
	}
	newest := snapshots[len(snapshots)-1]
	log, err := wal.OpenForRead(zap.NewNop(), folder, newest)
	if err != nil {
		return 0, damage(folder, err)
	}
	defer log.Close()
	_, _, entries, err := log.ReadAll()
	if err != nil {
		return 0, damage(folder, err)
	}
	last = newest.Index
	if len(entries) > 0 {
		last = entries[len(entries)-1].Index
	}
	return last, nil
}

// reportPanic turns a panic of a library that reads a damaged file into a DamagedError.
func reportPanic(path string, err *error) {
	if cause := recover(); cause != nil {
		*err = &DamagedError{Path: path, Cause: fmt.Errorf("%v", cause)}
	}
}

// checkDatabase reads the whole database, and returns the index of the last entry of the log that is in it.
func checkDatabase(path string, size int64) (stored uint64, err error) {
	if size == 0 { // bbolt would initialize it
		return 0, &DamagedError{Path: path, Cause: errors.New("the file is empty")}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is mapped into memory
	defer reportPanic(path, &err)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout, PreLoadFreelist: true})
	if err != nil {
		return 0, damage(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > size {
			return fmt.Errorf("the file has %d bytes instead of %d", size, tx.Size())
		}
		if meta := tx.Bucket([]byte("meta")); meta != nil {
			if index := meta.Get([]byte("consistent_index")); len(index) == 8 {
				stored = binary.BigEndian.Uint64(index)
			}
		}
		return tx.ForEach(checkBucket)
	})
	if err != nil {
		return 0, &DamagedError{Path: path, Cause: err}
	}
	return stored, nil
}

func checkBucket(name []byte, b *bbolt.Bucket) error {
	if b == nil {
		return fmt.Errorf("%q is not a bucket", name)
	}
	var last []byte
	return b.ForEach(func(key, stored []byte) error {
		if bytes.Compare(last, key) >= 0 && last != nil {
			return fmt.Errorf("the keys of bucket %q are not in order", name)
		}
		last = key
		if string(name) != "key" {
			return nil
		}
		var kv mvccpb.KeyValue
		if err := kv.Unmarshal(stored); err != nil {
			return fmt.Errorf("decoding entry %x: %w", key, err)
		}
		if len(kv.Value) > 0 && kv.Value[0] == '{' && !json.Valid(kv.Value) {
			return fmt.Errorf("object %s is not JSON", kv.Key)
		}
		return nil
	})
}
