// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxNameBytes is the length beyond which PostgreSQL truncates names without an error.
const maxNameBytes = 63

// A command builds a statement. Definition statements take no parameters, so names and texts are quoted. err is that of the first
// invalid name or text.
type command struct {
	text strings.Builder
	err  error
}

// statement starts a command with SQL.
func statement(words string) *command { return new(command).sql(words) }

func (c *command) sql(words string) *command {
	if c.text.Len() > 0 {
		c.text.WriteByte(' ')
	}
	c.text.WriteString(words)
	return c
}

// name adds a name, or a qualified one.
func (c *command) name(parts ...string) *command {
	for _, part := range parts {
		c.err = cmp.Or(c.err, checkName(part))
	}
	return c.sql(pgx.Identifier(parts).Sanitize())
}

func (c *command) oneName(name string) *command { return c.name(name) }

// add adds another command's SQL.
func (c *command) add(o *command) *command {
	c.err = cmp.Or(c.err, o.err)
	if o.text.Len() == 0 {
		return c
	}
	return c.sql(o.text.String())
}

// names adds a list of names.
func (c *command) names(list []string) *command {
	for i, name := range list {
		if i > 0 {
			c.sql(",")
		}
		c.name(name)
	}
	return c
}

// value adds a text.
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

// runTogether runs commands in one transaction.
func runTogether(ctx context.Context, conn *pgx.Conn, commands []*command) error {
	if len(commands) == 0 {
		return nil
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return run(ctx, tx, commands...) })
}

// firstError returns the first error of the commands.
func firstError(commands ...*command) error {
	for _, c := range commands {
		if c.err != nil {
			return c.err
		}
	}
	return nil
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

// notFound is the error for a missing object, as PostgreSQL phrases it.
func notFound(code, kind, name string) error {
	return &Error{Code: code, Message: fmt.Sprintf("%s %q does not exist", kind, name)}
}

// names returns the first column of a query.
func names(ctx context.Context, e executor, query string, arguments ...any) ([]string, error) {
	rows, err := e.Query(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// differs reports whether want is set and not equal to have.
func differs[T comparable](have, want *T) bool {
	return want != nil && (have == nil || *have != *want)
}
