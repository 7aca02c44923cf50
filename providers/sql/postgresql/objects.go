// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// An Object is a pointer to a Database, Role, Schema, Extension or Grant.
type Object[T any] interface {
	*T
	where(s *Server) string // the database to connect to
	read(ctx context.Context, e executor) (*T, error)
	create(ctx context.Context, s *Server) (*T, error)
	update(ctx context.Context, s *Server) error
	remove(ctx context.Context, s *Server, force bool) error
}

// Get returns the object with the identity of x, IsNotFound if it or its database does not exist.
func Get[T any, P Object[T]](ctx context.Context, s *Server, x T) (found *T, err error) {
	err = s.on(ctx, P(&x).where(s), func(ctx context.Context, c *pgx.Conn) error {
		found, err = P(&x).read(ctx, c)
		return err
	})
	return found, err
}

// Create creates an object, IsExists if the name is taken.
func Create[T any, P Object[T]](ctx context.Context, s *Server, x T) (*T, error) {
	return P(&x).create(ctx, s)
}

// Update changes what differs, IsNotFound if the object does not exist.
func Update[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	return P(&x).update(ctx, s)
}

// Delete deletes the object with the identity of x, IsNotFound if it or its database does not exist. The error is IsConflict while
// sessions are connected to a database, objects depend on an extension, a schema has contents, a role owns objects or holds
// privileges, or the holder of a grant granted its privileges to others.
func Delete[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	return P(&x).remove(ctx, s, false)
}

// ForceDelete is Delete that also terminates the sessions in a database, and deletes the contents of a schema and all that depends
// on them or on an extension.
func ForceDelete[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	return P(&x).remove(ctx, s, true)
}

// An ordinary object has a comment, and its statements can run in a transaction.
type ordinary[T any] interface {
	Object[T]
	commented
	identity() *command          // in SQL, for example SCHEMA "x"
	changes(have *T) []*command  // without the comment; they create the object if have is nil
	membership(have *T) []string // the roles whose privileges the changes need
	drop() *command
}

func createOrdinary[T any, P ordinary[T]](ctx context.Context, s *Server, x P) (created *T, err error) {
	err = s.within(ctx, x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		if err := change(ctx, s, tx, x, nil); err != nil {
			return err
		}
		created, err = x.read(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

func updateOrdinary[T any, P ordinary[T]](ctx context.Context, s *Server, x P) error {
	return s.within(ctx, x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		have, err := x.read(ctx, tx)
		if err != nil {
			return err
		}
		return change(ctx, s, tx, x, have)
	})
}

// change creates or updates x. The comment is compared afterwards, since creating or updating an extension changes it.
func change[T any, P ordinary[T]](ctx context.Context, s *Server, tx pgx.Tx, x P, have *T) error {
	return s.asMember(ctx, tx.Conn(), tx, x.membership(have), func() error {
		if err := run(ctx, tx, x.changes(have)...); err != nil {
			return err
		}
		now, err := x.read(ctx, tx)
		if err != nil {
			return err
		}
		return run(ctx, tx, commentCommands(x.identity(), P(now), x)...)
	})
}

func removeOrdinary[T any, P ordinary[T]](ctx context.Context, s *Server, x P, force bool) error {
	return s.within(ctx, x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		have, err := x.read(ctx, tx)
		if err != nil {
			return err
		}
		drop := x.drop()
		if force {
			drop.sql("CASCADE")
		}
		return s.asMember(ctx, tx.Conn(), tx, P(have).membership(have), func() error { return run(ctx, tx, drop) })
	})
}

// readOne returns the object in the only row of a query, whose columns have the names of fields; comment is the stored one. missing
// is the error for no row.
func readOne[T any, P interface {
	*T
	commented
}](ctx context.Context, e executor, missing error, query string, arguments ...any) (*T, error) {
	rows, err := e.Query(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	x, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByNameLax[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	comment, labels := P(x).comments()
	text, found := splitComment(**comment)
	*comment, *labels = &text, found
	return x, nil
}
