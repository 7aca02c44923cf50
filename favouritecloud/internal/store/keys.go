// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"time"
)

const (
	projects bucket[project] = "projects" // by name
	keys     bucket[Key]     = "keys"     // by id
)

// Key is the stored part of an API key.
type Key struct {
	// ID is the id of the key, which is a part of it.
	ID string
	// Project is the project that the key belongs to.
	Project string
	// Hash is the SHA-256 of the whole key.
	Hash [sha256.Size]byte
	// CreatedAt is the time of creation.
	CreatedAt time.Time
}

type project struct{ CreatedAt time.Time }

// AddKey adds a key, and its project if that is new.
func (s *Store) AddKey(k Key) error {
	return s.Write(func(tx *Tx) error {
		_, err := projects.get(tx, []byte(k.Project))
		if errors.Is(err, ErrNotFound) {
			err = projects.put(tx, []byte(k.Project), project{CreatedAt: k.CreatedAt})
		}
		if err != nil {
			return err
		}
		return keys.put(tx, []byte(k.ID), k)
	})
}

// Key returns the key of an id. The error is ErrNotFound when there is none.
func (s *Store) Key(id string) (k Key, err error) {
	err = s.Read(func(tx *Tx) error {
		k, err = keys.get(tx, []byte(id))
		return err
	})
	return k, err
}
