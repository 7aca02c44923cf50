// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"time"

	"go.etcd.io/bbolt"
)

// Key is what is kept of an API key.
type Key struct {
	// ID names the key and is part of it.
	ID string
	// Project is the project that the key belongs to.
	Project string
	// Hash is the SHA-256 of the whole key.
	Hash [sha256.Size]byte
	// CreatedAt is when the key was made.
	CreatedAt time.Time
}

type project struct{ CreatedAt time.Time }

// AddKey adds a key, and its project if that is new.
func (s *Store) AddKey(k Key) error {
	t := tables()
	return s.db.Update(func(tx *bbolt.Tx) error {
		projects := tx.Bucket(t.projects)
		if projects.Get([]byte(k.Project)) == nil {
			if err := put(projects, []byte(k.Project), project{CreatedAt: k.CreatedAt}); err != nil {
				return err
			}
		}
		return put(tx.Bucket(t.keys), []byte(k.ID), k)
	})
}

// Key returns the key of an id. The error is ErrNotFound when there is none.
func (s *Store) Key(id string) (k Key, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return get(tx.Bucket(tables().keys), []byte(id), &k)
	})
	return k, err
}
