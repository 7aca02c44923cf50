// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// ErrNotFound reports that there is no such record.
var ErrNotFound = errors.New("not found")

// Tx is a transaction. It is valid until the function that it was passed to returns.
type Tx struct{ bolt *bbolt.Tx }

// Read lets f read one consistent state.
func (s *Store) Read(f func(*Tx) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// Write lets f read and change the state. Nothing is written when f returns an error, which Write returns; otherwise all changes
// are on disk when Write returns nil. Writes run one at a time.
func (s *Store) Write(f func(*Tx) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return f(&Tx{bolt: tx}) })
}

// bucket holds records as JSON by key. It is created with its first record.
type bucket[T any] string

// get returns ErrNotFound when there is no such record.
func (b bucket[T]) get(tx *Tx, key []byte) (record T, err error) {
	bolt := tx.bolt.Bucket([]byte(b))
	if bolt == nil {
		return record, ErrNotFound
	}
	data := bolt.Get(key)
	if data == nil {
		return record, ErrNotFound
	}
	return record, json.Unmarshal(data, &record)
}

// scan returns the records whose keys have the prefix, ordered by key.
func (b bucket[T]) scan(tx *Tx, prefix []byte) (records []T, err error) {
	bolt := tx.bolt.Bucket([]byte(b))
	if bolt == nil {
		return nil, nil
	}
	cursor := bolt.Cursor()
	for key, data := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, data = cursor.Next() {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return nil, fmt.Errorf("reading %s: %w", b, err)
		}
		records = append(records, record)
	}
	return records, nil
}

func (b bucket[T]) put(tx *Tx, key []byte, record T) error {
	bolt, err := tx.bolt.CreateBucketIfNotExists([]byte(b))
	if err != nil {
		return fmt.Errorf("creating %s: %w", b, err)
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return bolt.Put(key, data)
}

// delete deletes a record if it exists.
func (b bucket[T]) delete(tx *Tx, key []byte) error {
	bolt := tx.bolt.Bucket([]byte(b))
	if bolt == nil {
		return nil
	}
	return bolt.Delete(key)
}

// inProject returns the key of a record that is unique in a project. Neither part may contain a zero byte.
func inProject(project, name string) []byte { return []byte(project + "\x00" + name) }

// Table holds records of one type by project and name.
type Table[T any] struct{ bucket bucket[T] }

// NewTable returns the table with a name that no other table has.
func NewTable[T any](name string) Table[T] { return Table[T]{bucket: bucket[T]("table." + name)} }

// Get returns a record. The error is ErrNotFound when there is none.
func (t Table[T]) Get(tx *Tx, project, name string) (T, error) {
	return t.bucket.get(tx, inProject(project, name))
}

// List returns the records of a project, ordered by name.
func (t Table[T]) List(tx *Tx, project string) ([]T, error) {
	return t.bucket.scan(tx, inProject(project, ""))
}

// All returns the records of all projects, ordered by project and name.
func (t Table[T]) All(tx *Tx) ([]T, error) { return t.bucket.scan(tx, nil) }

// Put adds or replaces a record.
func (t Table[T]) Put(tx *Tx, project, name string, record T) error {
	return t.bucket.put(tx, inProject(project, name), record)
}

// Delete deletes a record if it exists.
func (t Table[T]) Delete(tx *Tx, project, name string) error {
	return t.bucket.delete(tx, inProject(project, name))
}
