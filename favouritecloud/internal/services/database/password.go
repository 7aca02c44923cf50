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

// Which password a server has is data of the server, and changing it needs the one that it has. So the record of an
// instance keeps what that may be from before a change is asked for until it is known to be applied: the server has the
// wanted password or one of the former, and without any former it has the wanted one.

// changePassword asks for another password, as part of a write to the record.
func changePassword(i *Record, wanted string) {
	if len(i.FormerPasswords) == 0 {
		i.FormerPasswords = []string{i.Password}
	}
	i.Password = wanted
}

// applyPassword gives the running server the wanted password, if it may have another.
func (s *server) applyPassword(ctx context.Context, record Record) error {
	if len(record.FormerPasswords) == 0 {
		return nil
	}
	wanted := record.Password
	present, err := s.running.FindPassword(ctx, append([]string{wanted}, record.FormerPasswords...))
	if errors.Is(err, postgres.ErrWrongPassword) {
		return errors.New("the password cannot be changed: somebody changed it with SQL; ask for the one that the server has now")
	}
	if err != nil {
		return fmt.Errorf("changing password: %w", err)
	}
	if present != wanted {
		attempt := func(i *Record) { i.FormerPasswords = []string{present, wanted} } // What is wanted may change meanwhile.
		if err := s.record(attempt); err != nil {
			return err
		}
		if err := s.running.SetPassword(ctx, present, wanted); err != nil {
			return fmt.Errorf("changing password: %w", err)
		}
		s.Log.Info("password changed", "instance", record.Name)
	}
	return s.record(func(i *Record) {
		if i.FormerPasswords = nil; i.Password != wanted {
			i.FormerPasswords = []string{wanted}
		}
	})
}

// record changes the record, unless the instance is gone.
func (s *server) record(change func(*Record)) error {
	if _, err := s.Update(change); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording password: %w", err)
	}
	return nil
}

// firstPassword returns the password for a server that is about to be made, and notes that it will have no other.
func (s *server) firstPassword() (string, error) {
	i, err := s.Update(func(i *Record) { i.FormerPasswords = nil })
	if err != nil {
		return "", fmt.Errorf("recording password: %w", err)
	}
	return i.Password, nil
}
