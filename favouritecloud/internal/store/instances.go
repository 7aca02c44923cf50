// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrNameTaken reports that the project has another record with the name.
var ErrNameTaken = errors.New("name is taken")

// Instance is the common part of the records of all services: the desired state of an instance and the last observed one.
type Instance struct {
	// ID is assigned by Create and never reused.
	ID int
	// Project and Name identify the instance for users.
	Project, Name string
	// Version is the desired version of the server's programs; empty for any, until one was chosen.
	Version string
	// Generation counts the changes of the desired state.
	Generation int
	// Status and Message are as the API shows them. Status DELETING is also desired state, and final.
	Status, Message string
	// Port is the port of the server; 0 until one was chosen.
	Port int
	// Labels are those of the user.
	Labels map[string]string
	// CreatedAt is the exact time of the create request.
	CreatedAt time.Time
	// Password is the desired password of the user that the API shows.
	Password string
	// IdempotencyKey is that of the create request; empty for none.
	IdempotencyKey string
}

// Common returns the instance itself, so that pointers to records that embed it are a Record.
func (i *Instance) Common() *Instance { return i }

// A Record is a pointer to the record of a service, which embeds an Instance.
type Record[R any] interface {
	*R
	Common() *Instance
}

// Instances are the records of one service, of type R. Ids are stored as eight bytes, big endian, so that they sort.
type Instances[R any, P Record[R]] struct {
	store       *Store
	records     bucket[R]      // by id
	names       string         // bucket of ids by project and name
	idempotency bucket[replay] // by project and key
}

// NewInstances returns the records of a service with a name that no other service has.
func NewInstances[R any, P Record[R]](s *Store, service string) *Instances[R, P] {
	return &Instances[R, P]{
		store: s, records: bucket[R](service + ".instances"), names: service + ".names",
		idempotency: bucket[replay](service + ".idempotency"),
	}
}

// replay is the answer to the request that created an instance.
type replay struct {
	Instance int
	Answer   json.RawMessage
}

// Create adds a record, or returns the answer to an earlier request with the same idempotency key in the same project. It assigns
// the ID of the record and stores, in the same transaction, the result of answer. The error is ErrNameTaken when another record
// has the name.
func (s *Instances[R, P]) Create(record *R, answer func(R) ([]byte, error)) (body []byte, replayed bool, err error) {
	i := P(record).Common()
	key := inProject(i.Project, i.IdempotencyKey)
	err = s.store.Write(func(tx *Tx) error {
		if i.IdempotencyKey != "" {
			earlier, err := s.idempotency.get(tx, key)
			if !errors.Is(err, ErrNotFound) {
				body, replayed = earlier.Answer, err == nil
				return err
			}
		}
		if err := s.assignID(tx, i); err != nil {
			return err
		}
		if body, err = answer(*record); err != nil {
			return err
		}
		if i.IdempotencyKey != "" {
			if err := s.idempotency.put(tx, key, replay{Instance: i.ID, Answer: body}); err != nil {
				return err
			}
		}
		return s.records.put(tx, idKey(i.ID), *record)
	})
	return body, replayed, err
}

// assignID assigns the next id to an instance and to its name.
func (s *Instances[R, P]) assignID(tx *Tx, i *Instance) error {
	names, namesErr := tx.bolt.CreateBucketIfNotExists([]byte(s.names))
	records, recordsErr := tx.bolt.CreateBucketIfNotExists([]byte(s.records))
	if err := errors.Join(namesErr, recordsErr); err != nil {
		return fmt.Errorf("creating tables: %w", err)
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
	return names.Put(name, idKey(i.ID))
}

// Replay returns the result of answer in the Create with this idempotency key. The error is ErrNotFound when there was none, or
// the instance was deleted.
func (s *Instances[R, P]) Replay(project, idempotencyKey string) (body []byte, err error) {
	err = s.store.Read(func(tx *Tx) error {
		earlier, err := s.idempotency.get(tx, inProject(project, idempotencyKey))
		body = earlier.Answer
		return err
	})
	return body, err
}

// Get returns a record by id. The error is ErrNotFound when there is none.
func (s *Instances[R, P]) Get(id int) (record R, err error) {
	err = s.store.Read(func(tx *Tx) error {
		record, err = s.records.get(tx, idKey(id))
		return err
	})
	return record, err
}

// ByName returns a record by project and name. The error is ErrNotFound when there is none.
func (s *Instances[R, P]) ByName(project, name string) (record R, err error) {
	err = s.store.Read(func(tx *Tx) error {
		names := tx.bolt.Bucket([]byte(s.names))
		if names == nil {
			return ErrNotFound
		}
		record, err = s.records.get(tx, names.Get(inProject(project, name)))
		return err
	})
	return record, err
}

// OfProject returns the records of a project, ordered by name.
func (s *Instances[R, P]) OfProject(project string) (list []R, err error) {
	list, err = s.All()
	list = slices.DeleteFunc(list, func(r R) bool { return P(&r).Common().Project != project })
	slices.SortFunc(list, func(a, b R) int { return strings.Compare(P(&a).Common().Name, P(&b).Common().Name) })
	return list, err
}

// All returns all records, ordered by id.
func (s *Instances[R, P]) All() (list []R, err error) {
	err = s.store.Read(func(tx *Tx) error {
		list, err = s.records.scan(tx, nil)
		return err
	})
	return list, err
}

// Update lets change edit a record and returns the result. If change returns an error, nothing is written and Update returns the
// error. The error is ErrNotFound when there is no such record.
func (s *Instances[R, P]) Update(id int, change func(*R) error) (record R, err error) {
	err = s.store.Write(func(tx *Tx) error {
		if record, err = s.records.get(tx, idKey(id)); err != nil {
			return err
		}
		if err := change(&record); err != nil {
			return err
		}
		return s.records.put(tx, idKey(id), record)
	})
	return record, err
}

// Delete deletes a record, its name and its idempotency key, if they exist.
func (s *Instances[R, P]) Delete(id int) error {
	return s.store.Write(func(tx *Tx) error {
		record, err := s.records.get(tx, idKey(id))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		i := P(&record).Common()
		return errors.Join(
			s.idempotency.delete(tx, inProject(i.Project, i.IdempotencyKey)),
			bucket[int](s.names).delete(tx, inProject(i.Project, i.Name)),
			s.records.delete(tx, idKey(id)))
	})
}

func idKey(id int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
