// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"go.etcd.io/bbolt"
)

// Instance is the record of a database instance: what is wanted of it, and what was last seen.
type Instance struct {
	// ID is given by CreateInstance and never used again.
	ID int
	// Project and Name identify the instance for people.
	Project, Name string
	// FancinessLevel is wanted.
	FancinessLevel int
	// Version is the major version that is wanted; empty for any, until the data folder settles it.
	Version string
	// Status and Message are as the API shows them. Status DELETING is a wish too, and never changes back.
	Status, Message string
	// Port is where the server listens; 0 until it first did.
	Port int
	// Labels are the caller's.
	Labels map[string]string
	// CreatedAt is when the instance was asked for, exactly.
	CreatedAt time.Time
	// Password is wanted for the superuser.
	Password string
	// FormerPasswords are those that the server may have instead of Password, while a change of it is not yet known to
	// be applied; empty otherwise.
	FormerPasswords []string
	// IdempotencyKey is the key that the instance was created with; empty for none.
	IdempotencyKey string
}

// replay is the answer to the request that made an instance.
type replay struct {
	Instance int
	Answer   json.RawMessage
}

// CreateInstance adds a record, or repeats the answer to an earlier request with the same idempotency key in the same
// project. It gives the record its ID and keeps, in the same transaction, what answer makes of it. The error is
// ErrNameTaken when another record has the name.
func (s *Store) CreateInstance(i *Instance, answer func(Instance) ([]byte, error)) (body []byte, replayed bool, err error) {
	t := tables()
	err = s.db.Update(func(tx *bbolt.Tx) error {
		names, records, replays := tx.Bucket(t.names), tx.Bucket(t.instances), tx.Bucket(t.idempotency)
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
		if body, err = answer(*i); err != nil {
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
		return put(records, idKey(i.ID), i)
	})
	return body, replayed, err
}

// Replay returns what answer made in the CreateInstance with this idempotency key. The error is ErrNotFound when there
// was none, or its instance is gone.
func (s *Store) Replay(project, idempotencyKey string) (body []byte, err error) {
	var earlier replay
	err = s.db.View(func(tx *bbolt.Tx) error {
		return get(tx.Bucket(tables().idempotency), inProject(project, idempotencyKey), &earlier)
	})
	return earlier.Answer, err
}

// Instance returns a record by id. The error is ErrNotFound when there is none.
func (s *Store) Instance(id int) (i Instance, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return get(tx.Bucket(tables().instances), idKey(id), &i)
	})
	return i, err
}

// InstanceByName returns a record by project and name. The error is ErrNotFound when there is none.
func (s *Store) InstanceByName(project, name string) (i Instance, err error) {
	t := tables()
	err = s.db.View(func(tx *bbolt.Tx) error {
		id := tx.Bucket(t.names).Get(inProject(project, name))
		if id == nil {
			return ErrNotFound
		}
		return get(tx.Bucket(t.instances), id, &i)
	})
	return i, err
}

// ProjectInstances returns the records of a project, ordered by name.
func (s *Store) ProjectInstances(project string) (list []Instance, err error) {
	t := tables()
	err = s.db.View(func(tx *bbolt.Tx) error {
		records, prefix := tx.Bucket(t.instances), inProject(project, "")
		names := tx.Bucket(t.names).Cursor()
		for name, id := names.Seek(prefix); bytes.HasPrefix(name, prefix); name, id = names.Next() {
			var i Instance
			if err := get(records, id, &i); err != nil {
				return err
			}
			list = append(list, i)
		}
		return nil
	})
	return list, err
}

// Instances returns all records, ordered by id.
func (s *Store) Instances() (list []Instance, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(tables().instances).ForEach(func(_, data []byte) error {
			var i Instance
			if err := json.Unmarshal(data, &i); err != nil {
				return err
			}
			list = append(list, i)
			return nil
		})
	})
	return list, err
}

// UpdateInstance lets change edit a record and returns the result. Nothing is written when change returns an error,
// which is then returned. The error is ErrNotFound when there is no such record.
func (s *Store) UpdateInstance(id int, change func(*Instance) error) (i Instance, err error) {
	err = s.db.Update(func(tx *bbolt.Tx) error {
		records := tx.Bucket(tables().instances)
		if err := get(records, idKey(id), &i); err != nil {
			return err
		}
		if err := change(&i); err != nil {
			return err
		}
		return put(records, idKey(id), i)
	})
	return i, err
}

// ForgetInstance removes a record, its name and its idempotency key, if they are there.
func (s *Store) ForgetInstance(id int) error {
	t := tables()
	return s.db.Update(func(tx *bbolt.Tx) error {
		var i Instance
		records := tx.Bucket(t.instances)
		if err := get(records, idKey(id), &i); errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if i.IdempotencyKey != "" {
			if err := tx.Bucket(t.idempotency).Delete(inProject(i.Project, i.IdempotencyKey)); err != nil {
				return err
			}
		}
		if err := tx.Bucket(t.names).Delete(inProject(i.Project, i.Name)); err != nil {
			return err
		}
		return records.Delete(idKey(id))
	})
}

func idKey(id int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
