// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Instance is what the records of all services have in common: what is wanted of an instance, and what was last seen.
type Instance struct {
	// ID is given by Create and never used again.
	ID int
	// Project and Name identify the instance for people.
	Project, Name string
	// Version is that of the server's programs which is wanted; empty for any, until one was chosen.
	Version string
	// Generation counts the changes to what is wanted.
	Generation int
	// Status and Message are as the API shows them. Status DELETING is a wish too, and never changes back.
	Status, Message string
	// Port is where the server listens; 0 until one was chosen.
	Port int
	// Labels are the caller's.
	Labels map[string]string
	// CreatedAt is when the instance was asked for, exactly.
	CreatedAt time.Time
	// Password is wanted for the user that the API shows.
	Password string
	// IdempotencyKey is the key that the instance was created with; empty for none.
	IdempotencyKey string
}

// Common returns the instance itself, so that records which embed it are a Record.
func (i *Instance) Common() *Instance { return i }

// A Record is a pointer to the record of a service, which embeds an Instance.
type Record[R any] interface {
	*R
	Common() *Instance
}

// Instances are the records of one service, R each.
type Instances[R any, P Record[R]] struct {
	db                          *bbolt.DB
	records, names, idempotency []byte // id to record; project and name to id; project and key to replay
}

// NewInstances returns the records of a service, whose name must differ from that of every other. The first record makes
// its tables.
func NewInstances[R any, P Record[R]](s *Store, service string) *Instances[R, P] {
	return &Instances[R, P]{
		db: s.db, records: []byte(service + ".instances"), names: []byte(service + ".names"), idempotency: []byte(service + ".idempotency"),
	}
}

// replay is the answer to the request that made an instance.
type replay struct {
	Instance int
	Answer   json.RawMessage
}

// Create adds a record, or repeats the answer to an earlier request with the same idempotency key in the same
// project. It gives the record its ID and keeps, in the same transaction, what answer makes of it. The error is
// ErrNameTaken when another record has the name.
func (s *Instances[R, P]) Create(record *R, answer func(R) ([]byte, error)) (body []byte, replayed bool, err error) {
	i := P(record).Common()
	err = s.db.Update(func(tx *bbolt.Tx) error {
		names, namesErr := tx.CreateBucketIfNotExists(s.names)
		records, recordsErr := tx.CreateBucketIfNotExists(s.records)
		replays, replaysErr := tx.CreateBucketIfNotExists(s.idempotency)
		if err := errors.Join(namesErr, recordsErr, replaysErr); err != nil {
			return fmt.Errorf("making tables: %w", err)
		}
		if i.IdempotencyKey != "" {
			var earlier replay
			switch err := get(replays, inProject(i.Project, i.IdempotencyKey), &earlier); {
			case err == nil:
				body, replayed = earlier.Answer, true
				return nil
			case !errors.Is(err, ErrNotFound):
				return err
			}
		}
		name := inProject(i.Project, i.Name)
		if names.Get(name) != nil {
			return ErrNameTaken
		}
		id, err := records.NextSequence()
		if err != nil {
			return err
		}
		i.ID = int(id)
		if body, err = answer(*record); err != nil {
			return err
		}
		if i.IdempotencyKey != "" {
			if err := put(replays, inProject(i.Project, i.IdempotencyKey), replay{Instance: i.ID, Answer: body}); err != nil {
				return err
			}
		}
		if err := names.Put(name, idKey(i.ID)); err != nil {
			return err
		}
		return put(records, idKey(i.ID), record)
	})
	return body, replayed, err
}

// Replay returns what answer made in the Create with this idempotency key. The error is ErrNotFound when there
// was none, or its instance is gone.
func (s *Instances[R, P]) Replay(project, idempotencyKey string) (body []byte, err error) {
	var earlier replay
	err = s.db.View(func(tx *bbolt.Tx) error {
		return get(tx.Bucket(s.idempotency), inProject(project, idempotencyKey), &earlier)
	})
	return earlier.Answer, err
}

// Get returns a record by id. The error is ErrNotFound when there is none.
func (s *Instances[R, P]) Get(id int) (record R, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error { return get(tx.Bucket(s.records), idKey(id), &record) })
	return record, err
}

// ByName returns a record by project and name. The error is ErrNotFound when there is none.
func (s *Instances[R, P]) ByName(project, name string) (record R, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		names := tx.Bucket(s.names)
		if names == nil {
			return ErrNotFound
		}
		id := names.Get(inProject(project, name))
		if id == nil {
			return ErrNotFound
		}
		return get(tx.Bucket(s.records), id, &record)
	})
	return record, err
}

// OfProject returns the records of a project, ordered by name.
func (s *Instances[R, P]) OfProject(project string) (list []R, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		names := tx.Bucket(s.names)
		if names == nil {
			return nil
		}
		records, prefix, cursor := tx.Bucket(s.records), inProject(project, ""), names.Cursor()
		for name, id := cursor.Seek(prefix); bytes.HasPrefix(name, prefix); name, id = cursor.Next() {
			var record R
			if err := get(records, id, &record); err != nil {
				return err
			}
			list = append(list, record)
		}
		return nil
	})
	return list, err
}

// All returns all records, ordered by id.
func (s *Instances[R, P]) All() (list []R, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		records := tx.Bucket(s.records)
		if records == nil {
			return nil
		}
		return records.ForEach(func(_, data []byte) error {
			var record R
			if err := json.Unmarshal(data, &record); err != nil {
				return err
			}
			list = append(list, record)
			return nil
		})
	})
	return list, err
}

// Update lets change edit a record and returns the result. Nothing is written when change returns an error,
// which is then returned. The error is ErrNotFound when there is no such record.
func (s *Instances[R, P]) Update(id int, change func(*R) error) (record R, err error) {
	err = s.db.Update(func(tx *bbolt.Tx) error {
		records := tx.Bucket(s.records)
		if err := get(records, idKey(id), &record); err != nil {
			return err
		}
		if err := change(&record); err != nil {
			return err
		}
		return put(records, idKey(id), record)
	})
	return record, err
}

// Forget removes a record, its name and its idempotency key, if they are there.
func (s *Instances[R, P]) Forget(id int) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		var i Instance
		records := tx.Bucket(s.records)
		if err := get(records, idKey(id), &i); errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if i.IdempotencyKey != "" {
			if err := tx.Bucket(s.idempotency).Delete(inProject(i.Project, i.IdempotencyKey)); err != nil {
				return err
			}
		}
		if err := tx.Bucket(s.names).Delete(inProject(i.Project, i.Name)); err != nil {
			return err
		}
		return records.Delete(idKey(id))
	})
}

func idKey(id int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
