// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An Object is a pointer to a Database, Role, Schema, Extension or Grant.
type Object[T any] interface {
	*T
	where(s *Server) string // the database to connect to
	named() (kind, name string)
	read(ctx context.Context, e executor) (*T, error)
	verbs() verbs[T]
}

type verbs[T any] interface {
	check(s *Server) error // see CheckChange
	create(ctx context.Context, s *Server) (*T, error)
	update(ctx context.Context, s *Server) error
	remove(ctx context.Context, s *Server, force bool) error
}

// Get returns the object with the identity of x, IsNotFound if it or its database does not exist.
func Get[T any, P Object[T]](ctx context.Context, s *Server, x T) (found *T, err error) {
	if kind, name := P(&x).named(); checkName(name) != nil {
		return nil, notFound(codeNoObject, kind, name) // PostgreSQL would look for the part that it keeps
	}
	err = s.reading(ctx, P(&x).where(s), func(ctx context.Context, c *pgx.Conn) error {
		found, err = P(&x).read(ctx, c)
		return err
	})
	return found, err
}

// Create creates an object, IsExists if the name is taken.
func Create[T any, P Object[T]](ctx context.Context, s *Server, x T) (*T, error) {
	if err := CheckChange[T, P](s, x); err != nil {
		return nil, err
	}
	return P(&x).verbs().create(ctx, s)
}

// Update changes what differs, IsNotFound if the object does not exist.
func Update[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	if err := CheckChange[T, P](s, x); err != nil {
		return err
	}
	return P(&x).verbs().update(ctx, s)
}

// Delete deletes the object with the identity of x, IsNotFound if it or its database does not exist. The error is IsConflict while
// sessions are connected to a database, objects depend on an extension, a schema has contents, a role owns objects or holds
// privileges, or the holder of a grant granted its privileges to others.
func Delete[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	return remove[T, P](ctx, s, x, false)
}

// ForceDelete is Delete that also terminates the sessions in a database, and deletes the contents of a schema and all that depends
// on them or on an extension.
func ForceDelete[T any, P Object[T]](ctx context.Context, s *Server, x T) error {
	return remove[T, P](ctx, s, x, true)
}

// systemObjects are the names of objects that every server or every database has, or that PostgreSQL reserves, by kind.
var systemObjects = map[string]*regexp.Regexp{
	"database":  regexp.MustCompile(`^(postgres|template[01])$`),
	"extension": regexp.MustCompile(`^plpgsql$`),
	"role":      regexp.MustCompile(`^(postgres|public|none|pg_.*)$`),
	"schema":    regexp.MustCompile(`^(information_schema|pg_.*)$`),
}

func (s *Server) isSystem(kind, name string) bool {
	own := kind == "database" && name == s.config.Database || kind == "role" && name == s.config.Username
	pattern, exist := systemObjects[kind]
	return own || exist && pattern.MatchString(name)
}

// CheckChange fails for an object that Create, Update and Delete refuse by its name: IsReserved, or PostgreSQL would cut the name off.
func CheckChange[T any, P Object[T]](s *Server, x T) error {
	return P(&x).verbs().check(s)
}

// checkNamed is check for the kinds that have a name of their own.
func checkNamed(s *Server, kind, name string) error {
	if s.isSystem(kind, name) {
		return reserved(kind, name)
	}
	return checkName(name)
}

func reserved(kind, name string) error {
	return &Error{Code: codeReservedName, Message: fmt.Sprintf("%s %q is reserved for the server or the provider, and is not created, adopted, "+
		"changed or deleted: choose another name, or set deletionPolicy to Orphan to delete the managed resource only", kind, name)}
}

// remove keeps schema public, too, which all users of a database need, although its owner may change it.
func remove[T any, P Object[T]](ctx context.Context, s *Server, x T, force bool) error {
	if kind, name := P(&x).named(); kind == "schema" && name == "public" {
		return reserved(kind, name)
	}
	if err := CheckChange[T, P](s, x); err != nil {
		return err
	}
	return P(&x).verbs().remove(ctx, s, force)
}

// An ordinary object has a comment, and its statements can run in a transaction.
type ordinary[T any] interface {
	Object[T]
	commented
	identity() *command          // in SQL, for example SCHEMA "x"
	changes(have *T) []*command  // without the comment; they create the object if have is nil
	membership(have *T) []string // the roles whose privileges the changes need
	drop(cascade bool) *command
}

type ordinaryVerbs[T any, P ordinary[T]] struct{ x P }

func (v ordinaryVerbs[T, P]) check(s *Server) error {
	kind, name := v.x.named()
	return checkNamed(s, kind, name)
}

func (v ordinaryVerbs[T, P]) create(ctx context.Context, s *Server) (created *T, err error) {
	err = s.within(ctx, v.x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		if err := v.change(ctx, s, tx, nil); err != nil {
			return err
		}
		created, err = v.x.read(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

func (v ordinaryVerbs[T, P]) update(ctx context.Context, s *Server) error {
	return s.within(ctx, v.x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		have, err := v.x.read(ctx, tx)
		if err != nil {
			return err
		}
		return v.change(ctx, s, tx, have)
	})
}

// change creates or updates the object. The comment is compared afterwards, since creating or updating an extension changes it.
func (v ordinaryVerbs[T, P]) change(ctx context.Context, s *Server, tx pgx.Tx, have *T) error {
	return s.asMember(ctx, tx.Conn(), tx, v.x.membership(have), func() error {
		if err := run(ctx, tx, v.x.changes(have)...); err != nil {
			return err
		}
		now, err := v.x.read(ctx, tx)
		if err != nil {
			return err
		}
		return run(ctx, tx, commentCommands(v.x.identity(), P(now), v.x)...)
	})
}

func (v ordinaryVerbs[T, P]) remove(ctx context.Context, s *Server, force bool) error {
	return s.within(ctx, v.x.where(s), func(ctx context.Context, tx pgx.Tx) error {
		have, err := v.x.read(ctx, tx)
		if err != nil {
			return err
		}
		return s.asMember(ctx, tx.Conn(), tx, P(have).membership(have), func() error { return run(ctx, tx, v.x.drop(force)) })
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

// maxNameBytes is the length beyond which PostgreSQL truncates names without an error.
const maxNameBytes = 63

// A command builds a statement. Definition statements take no parameters, so names and texts are quoted. err is that of the first
// invalid name or text.
type command struct {
	text strings.Builder
	err  error
}

func statement(words string) *command { return new(command).sql(words) }

func (c *command) sql(words string) *command {
	if c.text.Len() > 0 {
		c.text.WriteByte(' ')
	}
	c.text.WriteString(words)
	return c
}

// name adds a name, which may be qualified.
func (c *command) name(parts ...string) *command {
	for _, part := range parts {
		c.err = cmp.Or(c.err, checkName(part))
	}
	return c.sql(pgx.Identifier(parts).Sanitize())
}

func (c *command) oneName(name string) *command { return c.name(name) }

func (c *command) add(o *command) *command {
	c.err = cmp.Or(c.err, o.err)
	if o.text.Len() == 0 {
		return c
	}
	return c.sql(o.text.String())
}

func (c *command) names(list []string) *command {
	for i, name := range list {
		if i > 0 {
			c.sql(",")
		}
		c.name(name)
	}
	return c
}

func (c *command) value(text string) *command {
	c.err = cmp.Or(c.err, checkText(text))
	return c.sql("'" + strings.ReplaceAll(text, "'", "''") + "'")
}

func (c *command) number(n int) *command { return c.sql(strconv.Itoa(n)) }

func (c *command) boolean(b bool) *command { return c.sql(strconv.FormatBool(b)) }

// An executor runs statements: a connection or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// run runs commands until one fails. None runs if any has an error.
func run(ctx context.Context, e executor, commands ...*command) error {
	if err := firstError(commands...); err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := e.Exec(ctx, c.text.String()); err != nil {
			return err
		}
	}
	return nil
}

func runTogether(ctx context.Context, conn *pgx.Conn, commands []*command) error {
	if len(commands) == 0 {
		return nil
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return run(ctx, tx, commands...) })
}

func firstError(commands ...*command) (err error) {
	for _, c := range commands {
		err = cmp.Or(err, c.err)
	}
	return err
}

func checkName(name string) error {
	if name == "" {
		return &Error{Code: codeBadName, Message: "a name is empty"}
	}
	if len(name) > maxNameBytes {
		return &Error{Code: codeNameTooLong, Message: fmt.Sprintf("name %q is too long", name),
			Detail: fmt.Sprintf("It has %d bytes, of which PostgreSQL would keep %d.", len(name), maxNameBytes)}
	}
	return checkText(name)
}

func checkText(text string) error {
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return &Error{Code: codeBadText, Message: "a name or text contains a NUL byte or is not UTF-8"}
	}
	return nil
}

func notFound(code, kind, name string) error {
	return &Error{Code: code, Message: fmt.Sprintf("%s %q does not exist", kind, name)}
}

func names(ctx context.Context, e executor, query string, arguments ...any) ([]string, error) {
	rows, err := e.Query(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// differs is false for an unset want.
func differs[T comparable](have, want *T) bool {
	return want != nil && (have == nil || *have != *want)
}
