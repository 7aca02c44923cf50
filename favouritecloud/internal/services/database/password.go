// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Which password a server has is data of the server, and changing it needs the one that it has. So the record of an
// instance keeps what that may be from before a change is asked for until it is known to be applied: the server has the
// wanted password or one of the former, and without any former it has the wanted one.

// changePassword asks for another password, as part of a write to the record.
func changePassword(i *store.Instance, wanted string) {
	if len(i.FormerPasswords) == 0 {
		i.FormerPasswords = []string{i.Password}
	}
	i.Password = wanted
}

// applyPassword gives the running server the wanted password, if it may have another.
func (w *worker) applyPassword(ctx context.Context, record store.Instance) error {
	if len(record.FormerPasswords) == 0 {
		return nil
	}
	wanted := record.Password
	present, err := w.server.FindPassword(ctx, append([]string{wanted}, record.FormerPasswords...))
	if errors.Is(err, postgres.ErrWrongPassword) {
		return errors.New("the password cannot be changed: somebody changed it with SQL; ask for the one that the server has now")
	}
	if err != nil {
		return fmt.Errorf("changing password: %w", err)
	}
	if present != wanted {
		attempt := func(i *store.Instance) { i.FormerPasswords = []string{present, wanted} } // What is wanted may change meanwhile.
		if err := w.record(attempt); err != nil {
			return err
		}
		if err := w.server.SetPassword(ctx, present, wanted); err != nil {
			return fmt.Errorf("changing password: %w", err)
		}
		w.log.Info("password changed", "instance", record.Name)
	}
	return w.record(func(i *store.Instance) {
		if i.FormerPasswords = nil; i.Password != wanted {
			i.FormerPasswords = []string{wanted}
		}
	})
}

// record changes the record, unless the instance is gone.
func (w *worker) record(change func(*store.Instance)) error {
	_, err := w.service.Store.UpdateInstance(w.id, func(i *store.Instance) error {
		change(i)
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording password: %w", err)
	}
	return nil
}

// firstPassword returns the password for a server that is about to be made, and notes that it will have no other.
func (w *worker) firstPassword() (string, error) {
	i, err := w.service.Store.UpdateInstance(w.id, func(i *store.Instance) error {
		i.FormerPasswords = nil
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("recording password: %w", err)
	}
	return i.Password, nil
}

// newPassword returns 32 random letters and digits: more than 180 bits.
func newPassword() string {
	const alphabet, length = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 32
	password := make([]byte, 0, length)
	for len(password) < length {
		random := make([]byte, length)
		rand.Read(random) //nolint:errcheck // Documented never to fail.
		for _, b := range random {
			if limit := byte(256 / len(alphabet) * len(alphabet)); b < limit && len(password) < length {
				password = append(password, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(password)
}
