// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTimeout gives a predecessor that was killed the moment it needs to be gone.
const lockTimeout = time.Second

// Errors that callers tell apart.
var (
	// ErrNotFound reports that there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken reports that the project has another record of that name.
	ErrNameTaken = errors.New("name is taken")
)

// Store is an open state file. It is safe for concurrent use.
type Store struct {
	db      *bbolt.DB
	pidPath string
}

// buckets are the tables that every state has. Ids are eight bytes, big endian, so that they sort; names are project, zero
// byte, name.
type buckets struct {
	settings []byte // name to text
	projects []byte // name to project
	keys     []byte // key id to key
}

func tables() buckets {
	return buckets{settings: []byte("settings"), projects: []byte("projects"), keys: []byte("keys")}
}

// Open opens the state in a folder, or makes it. When another process has it open the error comes within about a
// second and names that process.
func Open(folder string) (*Store, error) {
	s := &Store{pidPath: filepath.Join(folder, "pid")}
	db, err := bbolt.Open(filepath.Join(folder, "state.db"), 0o600, &bbolt.Options{Timeout: lockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("opening state: %s is in use by another cloud%s", folder, s.holder())
	}
	if err != nil {
		return nil, fmt.Errorf("opening state: %w", err)
	}
	s.db = db
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening state: %w", err), db.Close())
	}
	return s, nil
}

// holder names the process that has the state open, as far as that is known.
func (s *Store) holder() string {
	content, err := os.ReadFile(s.pidPath)
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

func (s *Store) prepare() error {
	if err := os.WriteFile(s.pidPath, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	t := tables()
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{t.settings, t.projects, t.keys} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the file and gives up its lock.
func (s *Store) Close() error {
	return errors.Join(os.Remove(s.pidPath), s.db.Close())
}

// Setting returns a setting of the cloud as a whole; empty if it was never set.
func (s *Store) Setting(name string) (value string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		value = string(tx.Bucket(tables().settings).Get([]byte(name)))
		return nil
	})
	return value, err
}

// SetSetting sets a setting of the cloud as a whole.
func (s *Store) SetSetting(name, value string) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(tables().settings).Put([]byte(name), []byte(value))
	})
}

// inProject returns the key of something that is unique in a project. Neither part may hold a zero byte.
func inProject(project, name string) []byte { return []byte(project + "\x00" + name) }

func put(b *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}

// get decodes a value and returns ErrNotFound when there is none, or not even a table.
func get(b *bbolt.Bucket, key []byte, value any) error {
	if b == nil {
		return ErrNotFound
	}
	data := b.Get(key)
	if data == nil {
		return ErrNotFound
	}
	return json.Unmarshal(data, value)
}
