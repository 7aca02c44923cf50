// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// Tx is a transaction over tables. It is valid until the function that it was given to returns.
type Tx struct{ bolt *bbolt.Tx }

// Read lets f read one consistent state.
func (s *Store) Read(f func(*Tx) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// Write lets f read and change the state. Nothing is written when f returns an error, which is then returned; else
// everything is on disk when Write returns nil. Writes run one at a time.
func (s *Store) Write(f func(*Tx) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// Table holds records of one sort by project and name.
type Table[T any] struct{ bucket string }

// NewTable returns the table of a name, which is made with its first record. The name must differ from that of every
// other table.
func NewTable[T any](name string) Table[T] { return Table[T]{bucket: "table." + name} }

// Get returns a record. The error is ErrNotFound when there is none.
func (t Table[T]) Get(tx *Tx, project, name string) (record T, err error) {
	err = get(tx.bolt.Bucket([]byte(t.bucket)), inProject(project, name), &record)
	return record, err
}

// List returns the records of a project, ordered by name.
func (t Table[T]) List(tx *Tx, project string) ([]T, error) {
	return t.scan(tx, inProject(project, ""))
}

// All returns the records of all projects, ordered by project and name.
func (t Table[T]) All(tx *Tx) ([]T, error) { return t.scan(tx, nil) }

func (t Table[T]) scan(tx *Tx, prefix []byte) (records []T, err error) {
	b := tx.bolt.Bucket([]byte(t.bucket))
	if b == nil {
		return nil, nil
	}
	cursor := b.Cursor()
	for key, data := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, data = cursor.Next() {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.bucket, err)
		}
		records = append(records, record)
	}
	return records, nil
}

// Put adds or replaces a record.
func (t Table[T]) Put(tx *Tx, project, name string, record T) error {
	b, err := tx.bolt.CreateBucketIfNotExists([]byte(t.bucket))
	if err != nil {
		return fmt.Errorf("making %s: %w", t.bucket, err)
	}
	return put(b, inProject(project, name), record)
}

// Delete removes a record, if it is there.
func (t Table[T]) Delete(tx *Tx, project, name string) error {
	b := tx.bolt.Bucket([]byte(t.bucket))
	if b == nil {
		return nil
	}
	return b.Delete(inProject(project, name))
}
