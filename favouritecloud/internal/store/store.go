// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the cloud's durable state in one bbolt file, whose lock guarantees that only one cloud uses the folder. The
// file contains the passwords of instances and is readable by its owner only; of API keys it contains hashes.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long a killed cloud may take to release the lock.
const lockTimeout = time.Second

// format names the layout of the file. Another one is refused: a cloud that found no records would delete their servers.
const format = "2"

var formatTable, versionKey = []byte("format"), []byte("version")

// ErrNotFound reports that there is no such record.
var ErrNotFound = errors.New("not found")

// Store is an open state file. It is safe for concurrent use.
type Store struct {
	db      *bbolt.DB
	pidPath string
}

// Open opens the state in a folder. It creates the state unless the folder was used before, and returns a DamagedError if it cannot be
// read. It fails after a second with an error that names the process that has it open.
func Open(folder string, used bool) (*Store, error) {
	pidPath, path := filepath.Join(folder, "pid"), filepath.Join(folder, "state.db")
	var db *bbolt.DB
	err := check(path, used)
	if err == nil {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		holder := ""
		if pid, err := os.ReadFile(pidPath); err == nil {
			holder = fmt.Sprintf(" (pid %s)", strings.TrimSpace(string(pid)))
		}
		return nil, fmt.Errorf("opening state: %s is in use by another cloud%s", folder, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("opening state: %w", err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error { return checkFormat(tx, used) }); err != nil {
		return nil, errors.Join(fmt.Errorf("opening state: %s %w", folder, err), db.Close())
	}
	if err := os.WriteFile(pidPath, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("opening state: %w", err), db.Close())
	}
	return &Store{db: db, pidPath: pidPath}, nil
}

func checkFormat(tx *bbolt.Tx, used bool) error {
	if first, _ := tx.Cursor().First(); first == nil && !used {
		created, err := tx.CreateBucket(formatTable)
		if err != nil {
			return err
		}
		return created.Put(versionKey, []byte(format))
	}
	if !hasFormat(tx) {
		return errors.New("has the state of another version of the cloud, and is unchanged: use that version, or another folder")
	}
	return nil
}

func hasFormat(tx *bbolt.Tx) bool {
	b := tx.Bucket(formatTable)
	return b != nil && string(b.Get(versionKey)) == format
}

// Close closes the file and releases its lock.
func (s *Store) Close() error { return errors.Join(os.Remove(s.pidPath), s.db.Close()) }

// Copy writes a consistent copy of the file, which Open can open, after a call of size with its length.
func (s *Store) Copy(w io.Writer, size func(int64) error) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		if err := size(tx.Size()); err != nil {
			return err
		}
		_, err := tx.WriteTo(w)
		return err
	})
}

// Tx is a transaction. It is valid until the function that it was passed to returns.
type Tx struct{ bolt *bbolt.Tx }

// Read lets f read one consistent state.
func (s *Store) Read(f func(*Tx) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// Write lets f change the state, one at a time. All changes are on disk when it returns nil; none is when f returns an error.
func (s *Store) Write(f func(*Tx) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// Table is the name of a table, which no other table has. It holds records of one type as JSON, by project and name; neither may
// contain a zero byte. Records of the whole cloud have an empty project. A table is created with its first record.
type Table[T any] string

func key(project, name string) []byte { return []byte(project + "\x00" + name) }

// Get returns a record. The error is ErrNotFound when there is none.
func (t Table[T]) Get(tx *Tx, project, name string) (record T, err error) {
	if bucket := tx.bolt.Bucket([]byte(t)); bucket != nil {
		if data := bucket.Get(key(project, name)); data != nil {
			return record, json.Unmarshal(data, &record)
		}
	}
	return record, ErrNotFound
}

// List returns the records of a project, ordered by name.
func (t Table[T]) List(tx *Tx, project string) ([]T, error) { return t.scan(tx, key(project, "")) }

// All returns the records of all projects, ordered by project and name.
func (t Table[T]) All(tx *Tx) ([]T, error) { return t.scan(tx, nil) }

func (t Table[T]) scan(tx *Tx, prefix []byte) (records []T, err error) {
	bucket := tx.bolt.Bucket([]byte(t))
	if bucket == nil {
		return nil, nil
	}
	cursor := bucket.Cursor()
	for key, data := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, data = cursor.Next() {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", t, err)
		}
		records = append(records, record)
	}
	return records, nil
}

// Put adds or replaces a record.
func (t Table[T]) Put(tx *Tx, project, name string, record T) error {
	bucket, err := tx.bolt.CreateBucketIfNotExists([]byte(t))
	if err != nil {
		return fmt.Errorf("creating table %s: %w", t, err)
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return bucket.Put(key(project, name), data)
}

// Delete deletes a record if it exists.
func (t Table[T]) Delete(tx *Tx, project, name string) error {
	if bucket := tx.bolt.Bucket([]byte(t)); bucket != nil {
		return bucket.Delete(key(project, name))
	}
	return nil
}

// NextID returns a number that it never returned before.
func (t Table[T]) NextID(tx *Tx) (int, error) {
	bucket, err := tx.bolt.CreateBucketIfNotExists([]byte(t))
	if err != nil {
		return 0, fmt.Errorf("creating table %s: %w", t, err)
	}
	id, err := bucket.NextSequence()
	return int(id), err
}
