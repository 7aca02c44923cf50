// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A DamagedError reports that the state cannot be read. A cloud without it would delete all servers.
type DamagedError struct {
	Path  string
	Cause error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged; it was not changed, nor was the data of the servers: restore a backup into an empty folder with "+
		"bowline restore FILE --data-dir FOLDER; the cause is: %v", e.Path, e.Cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// check reads the whole file without changing it. Opened for writing, an empty file is initialized, and a damaged one can end the process.
func check(path string, used bool) (err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && used:
		return &DamagedError{Path: path, Cause: errors.New("the file is gone")}
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 && !used:
		return nil // a first start
	case err != nil:
		return err
	case info.Size() == 0:
		return &DamagedError{Path: path, Cause: errors.New("the file is empty")}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is mapped into memory
	defer func() {
		if cause := recover(); cause != nil {
			err = &DamagedError{Path: path, Cause: fmt.Errorf("%v", cause)}
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout, PreLoadFreelist: true})
	if number, ok := errors.AsType[syscall.Errno](err); ok && number != syscall.EIO || errors.Is(err, bolterrors.ErrTimeout) {
		return err // not of the content
	}
	if err == nil {
		err = errors.Join(db.View(func(tx *bbolt.Tx) error { return checkRecords(tx, info.Size()) }), db.Close())
	}
	if err != nil {
		return &DamagedError{Path: path, Cause: err}
	}
	return nil
}

func checkRecords(tx *bbolt.Tx, size int64) error {
	if tx.Size() > size {
		return fmt.Errorf("the file has %d bytes instead of %d", size, tx.Size())
	}
	if !hasFormat(tx) {
		return nil // records of another version are another matter
	}
	return tx.ForEach(func(table []byte, b *bbolt.Bucket) error {
		if b == nil {
			return fmt.Errorf("%q is not a table", table)
		}
		var last []byte
		return b.ForEach(func(key, record []byte) error {
			if last != nil && bytes.Compare(last, key) >= 0 || !json.Valid(record) {
				return fmt.Errorf("record %q of table %q cannot be read", key, table)
			}
			last = key
			return nil
		})
	})
}
