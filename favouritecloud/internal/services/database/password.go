// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// The password of a server is part of its data, and changing it requires the current one. So the record keeps every possible
// current password from the request for a change until the change is known to be applied: the server has the desired password
// or a former one, and without former ones it has the desired one.

// changePassword sets the desired password of a record.
func changePassword(i *Record, desired string) {
	if len(i.FormerPasswords) == 0 {
		i.FormerPasswords = []string{i.Password}
	}
	i.Password = desired
}

// applyPassword sets the desired password of the running server, if it may have another one.
func (e *engine) applyPassword(ctx context.Context, s *postgres.Server, record Record) error {
	if len(record.FormerPasswords) == 0 {
		return nil
	}
	desired := record.Password
	current, err := s.FindPassword(ctx, append([]string{desired}, record.FormerPasswords...))
	if errors.Is(err, postgres.ErrWrongPassword) {
		return errors.New("the password cannot be changed because it was changed with SQL: " +
			"first update it to the one that the server has now")
	}
	if err != nil {
		return fmt.Errorf("changing password: %w", err)
	}
	if current != desired {
		// The desired password may change again in the meantime, so this attempt is recorded first.
		if err := e.record(func(i *Record) { i.FormerPasswords = []string{current, desired} }); err != nil {
			return err
		}
		if err := s.SetPassword(ctx, current, desired); err != nil {
			return fmt.Errorf("changing password: %w", err)
		}
		e.site.Log.Info("password changed", "instance", record.Name)
	}
	return e.record(func(i *Record) {
		if i.FormerPasswords = nil; i.Password != desired {
			i.FormerPasswords = []string{desired}
		}
	})
}

// record changes the record, unless the instance has been deleted.
func (e *engine) record(change func(*Record)) error {
	if _, err := e.site.Update(change); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording password: %w", err)
	}
	return nil
}

// firstPassword returns the password for data that is about to be created, and records that the server will have no other.
func (e *engine) firstPassword() (string, error) {
	i, err := e.site.Update(func(i *Record) { i.FormerPasswords = nil })
	if err != nil {
		return "", fmt.Errorf("recording password: %w", err)
	}
	return i.Password, nil
}
