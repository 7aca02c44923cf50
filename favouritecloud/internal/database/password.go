// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// The password of a server is part of its data, and changing it requires the current one. So the record keeps every possible
// current password from the request for a change until the change is known to be applied: the server has the desired password
// or a former one, and without former ones it has the desired one.

// changePassword sets the desired password of a record.
func changePassword(r *record, desired string) {
	if len(r.Spec.FormerPasswords) == 0 {
		r.Spec.FormerPasswords = []string{r.Password}
	}
	r.Password = desired
}

// applyPassword sets the desired password of the running server, if it may have another one.
func (d *driver) applyPassword(ctx context.Context, port int, r record) error {
	if len(r.Spec.FormerPasswords) == 0 {
		return nil
	}
	desired := r.Password
	current, err := findPassword(ctx, port, append([]string{desired}, r.Spec.FormerPasswords...))
	if errors.Is(err, errWrongPassword) {
		return errors.New("the password cannot be changed because it was changed with SQL: " +
			"first update it to the one that the server has now")
	}
	if err != nil {
		return fmt.Errorf("changing password: %w", err)
	}
	if current != desired {
		// The desired password may change again in the meantime, so this attempt is recorded first.
		if err := d.recordPassword(func(r *record) { r.Spec.FormerPasswords = []string{current, desired} }); err != nil {
			return err
		}
		if err := setPassword(ctx, port, current, desired); err != nil {
			return fmt.Errorf("changing password: %w", err)
		}
		d.Log.Info("password changed")
	}
	return d.recordPassword(func(r *record) {
		if r.Spec.FormerPasswords = nil; r.Password != desired {
			r.Spec.FormerPasswords = []string{desired}
		}
	})
}

// recordPassword changes the record, unless the instance has been deleted.
func (d *driver) recordPassword(change func(*record)) error {
	if _, err := d.Update(change); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording password: %w", err)
	}
	return nil
}

// firstPassword returns the password for data that is about to be created, and records that the server will have no other.
func (d *driver) firstPassword() (string, error) {
	r, err := d.Update(func(r *record) { r.Spec.FormerPasswords = nil })
	if err != nil {
		return "", fmt.Errorf("recording password: %w", err)
	}
	return r.Password, nil
}

// errWrongPassword reports that the server refused every password that was tried.
var errWrongPassword = errors.New("the server refuses the password")

// findPassword returns the first candidate that is the password of the superuser, or errWrongPassword. Errors contain none.
func findPassword(ctx context.Context, port int, candidates []string) (string, error) {
	for _, password := range candidates {
		conn, err := connect(ctx, port, password)
		if errors.Is(err, errWrongPassword) {
			continue
		}
		if err != nil {
			return "", err
		}
		return password, conn.Close(ctx)
	}
	return "", errWrongPassword
}

// setPassword changes the password of the superuser. The change is on disk when it returns nil. Errors contain no password.
func setPassword(ctx context.Context, port int, current, desired string) error {
	conn, err := connect(ctx, port, current)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // The change is committed.
	statement := "ALTER ROLE " + username + " PASSWORD '" + strings.ReplaceAll(desired, "'", "''") + "'"
	return conn.Exec(ctx, statement).Close()
}

// connect opens a session that logs no statements, since they contain passwords.
func connect(ctx context.Context, port int, password string) (*pgconn.PgConn, error) {
	target := fmt.Sprintf("host=%s port=%d user=%s database=postgres sslmode=disable", host.Loopback, port, username)
	config, err := pgconn.ParseConfig(target)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	config.Password, config.ConnectTimeout = password, pingTimeout
	config.RuntimeParams = map[string]string{
		"log_statement": "none", "log_min_error_statement": "panic", "log_min_duration_statement": "-1",
		"standard_conforming_strings": "on", "password_encryption": "scram-sha-256", "synchronous_commit": "on",
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	const invalidPassword = "28P01"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == invalidPassword {
		return nil, errWrongPassword
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	return conn, nil
}
