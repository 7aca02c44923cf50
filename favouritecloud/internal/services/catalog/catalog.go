// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog is the common part of services whose objects are records only: it reads, searches, changes and deletes them. A
// service validates an object in the transaction that writes it.
package catalog

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Record is an object with its internal fields.
type Record[T any] struct {
	// Project and ID identify the object.
	Project, ID string
	// CreatedAt is exact; the API shows whole seconds.
	CreatedAt time.Time
	// Object is the object.
	Object T
}

// Catalog holds the objects of one service.
type Catalog[T any] struct {
	state  *store.Store
	table  store.Table[Record[T]]
	noun   string
	labels func(T) map[string]string
}

// New returns a catalog. noun names an object in messages, and is the name of the table of records. labels returns the labels of an
// object.
func New[T any](state *store.Store, noun string, labels func(T) map[string]string) *Catalog[T] {
	return &Catalog[T]{state: state, table: store.NewTable[Record[T]](noun), noun: noun, labels: labels}
}

// Read returns an object as part of a transaction. The error is store.ErrNotFound when there is none.
func (c *Catalog[T]) Read(tx *store.Tx, project, id string) (T, error) {
	record, err := c.table.Get(tx, project, id)
	return record.Object, err
}

// All returns the records of a project, or of all projects when it is empty, as part of a transaction.
func (c *Catalog[T]) All(tx *store.Tx, project string) ([]Record[T], error) {
	if project == "" {
		return c.table.All(tx)
	}
	return c.table.List(tx, project)
}

// Put adds or replaces a record as part of a transaction.
func (c *Catalog[T]) Put(tx *store.Tx, record Record[T]) error {
	return c.table.Put(tx, record.Project, record.ID, record)
}

// NewID returns an unused id that consists of the prefix and a random part.
func (c *Catalog[T]) NewID(tx *store.Tx, project, prefix string) (string, error) {
	for {
		random := make([]byte, 5)
		rand.Read(random) // never fails
		id := prefix + hex.EncodeToString(random)
		if _, err := c.table.Get(tx, project, id); errors.Is(err, store.ErrNotFound) {
			return id, nil
		} else if err != nil {
			return "", err
		}
	}
}

// Get returns an object. If asOf is not zero, objects that were created later are not found.
func (c *Catalog[T]) Get(project, id string, asOf time.Time) (object T, err error) {
	err = c.state.Read(func(tx *store.Tx) error {
		record, err := c.table.Get(tx, project, id)
		if err == nil && !IsVisible(record.CreatedAt, asOf) {
			return store.ErrNotFound
		}
		object = record.Object
		return err
	})
	return object, c.explain(err, project, id)
}

// List returns the objects of a project that have all of the labels, ordered by id. If asOf is not zero, objects that were created
// later are not found.
func (c *Catalog[T]) List(project string, labels map[string]string, asOf time.Time) (objects []T, err error) {
	err = c.state.Read(func(tx *store.Tx) error {
		records, err := c.table.List(tx, project)
		for _, r := range records {
			if IsVisible(r.CreatedAt, asOf) && rules.Matches(c.labels(r.Object), labels) {
				objects = append(objects, r.Object)
			}
		}
		return err
	})
	return objects, err
}

// IsVisible reports whether a read as of a time finds an object. Zero means now.
func IsVisible(createdAt, asOf time.Time) bool { return asOf.IsZero() || !createdAt.After(asOf) }

// Change lets change edit an object and returns the result. If change returns an error, nothing is written.
func (c *Catalog[T]) Change(project, id string, change func(*T) error) (object T, err error) {
	err = c.state.Write(func(tx *store.Tx) error {
		record, err := c.table.Get(tx, project, id)
		if err != nil {
			return err
		}
		if err := change(&record.Object); err != nil {
			return err
		}
		object = record.Object
		return c.Put(tx, record)
	})
	return object, c.explain(err, project, id)
}

// Remove deletes an object, unless guard returns an error, and returns it.
func (c *Catalog[T]) Remove(project, id string, guard func(*store.Tx, T) error) (object T, err error) {
	err = c.state.Write(func(tx *store.Tx) error {
		record, err := c.table.Get(tx, project, id)
		if err != nil {
			return err
		}
		if err := guard(tx, record.Object); err != nil {
			return err
		}
		object = record.Object
		return c.table.Delete(tx, project, id)
	})
	return object, c.explain(err, project, id)
}

// explain converts a missing object to a refusal, and adds the object to internal errors.
func (c *Catalog[T]) explain(err error, project, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return refusal.NotFound("%s %q does not exist in project %q", c.noun, id, project)
	}
	if _, refused := errors.AsType[*refusal.Error](err); err == nil || refused {
		return err
	}
	return fmt.Errorf("%s %q of project %q: %w", c.noun, id, project, err)
}
