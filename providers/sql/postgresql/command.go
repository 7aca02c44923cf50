// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxNameBytes is where PostgreSQL cuts names off without an error.
const maxNameBytes = 63

// A command is a statement in the making. Definition statements take no parameters, so names and texts have to be quoted;
// its first unusable name or text is its error.
type command struct {
	text strings.Builder
	err  error
}

// say begins a command with words that are SQL as they are.
func say(words string) *command { return new(command).say(words) }

func (c *command) say(words string) *command {
	if c.text.Len() > 0 {
		c.text.WriteByte(' ')
	}
	c.text.WriteString(words)
	return c
}

// name adds a name, or a qualified one.
func (c *command) name(parts ...string) *command {
	for _, part := range parts {
		if err := checkName(part); err != nil && c.err == nil {
			c.err = err
		}
	}
	return c.say(pgx.Identifier(parts).Sanitize())
}

// names adds a list of names.
func (c *command) names(list []string) *command {
	for i, name := range list {
		if i > 0 {
			c.say(",")
		}
		c.name(name)
	}
	return c
}

// value adds a text.
func (c *command) value(text string) *command {
	if err := checkText(text); err != nil && c.err == nil {
		c.err = err
	}
	return c.say("'" + strings.ReplaceAll(text, "'", "''") + "'")
}

func (c *command) number(n int) *command { return c.say(strconv.Itoa(n)) }

func (c *command) truth(b bool) *command { return c.say(strconv.FormatBool(b)) }

// An executor runs statements: a connection or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// run runs commands one after the other until one fails. None runs if any is not usable.
func run(ctx context.Context, e executor, commands ...*command) error {
	if err := unusable(commands...); err != nil {
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

// unusable returns the first error of commands.
func unusable(commands ...*command) error {
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
		return &Error{Code: codeBadText, Message: "a name or text holds a NUL byte or is not UTF-8"}
	}
	return nil
}

// notFound is the error for a missing object, in the words that PostgreSQL itself uses.
func notFound(code, kind, name string) error {
	return &Error{Code: code, Message: fmt.Sprintf("%s %q does not exist", kind, name)}
}

// differs reports whether something is wanted that is not so.
func differs[T comparable](have, want *T) bool {
	return want != nil && (have == nil || *have != *want)
}
