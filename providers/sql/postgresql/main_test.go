// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// patience is how long anything may take on a busy machine.
const patience = 60 * time.Second

// shared is the server of all tests that need no special one. It logs all statements, which TestCanary reads.
var shared *postgresqltest.Server

func TestMain(m *testing.M) {
	server, err := postgresqltest.Start("log_statement=all", "log_min_duration_statement=0", "max_connections=60")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = server
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// connect returns a client of the shared server.
func connect(t *testing.T, change ...func(*postgresql.Config)) *postgresql.Server {
	t.Helper()
	c := shared.Config()
	c.MaxConns = 4
	for _, f := range change {
		f(&c)
	}
	return connectTo(t, c)
}

func connectTo(t *testing.T, c postgresql.Config) *postgresql.Server {
	t.Helper()
	s, err := postgresql.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// hostile is text that harms code that quotes it wrongly.
const hostile = `'; DROP "ROLE" -- $1 \ % é 名`

var serial atomic.Int32

// unique returns a name that no other test uses, and that has to be quoted.
func unique(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf(`%d "x"%s`, serial.Add(1), hostile[:20])
}

// open returns a session of the shared server that knows nothing of package postgresql.
func open(t *testing.T, database, username, password string) (*pgx.Conn, error) {
	t.Helper()
	c := shared.Config()
	c.Database, c.Username, c.Password = database, username, postgresql.Secret(password)
	return openAt(t, c)
}

// openAt returns such a session of any server.
func openAt(t *testing.T, c postgresql.Config) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d sslmode=disable", c.Endpoint, c.Port))
	if err != nil {
		t.Fatal(err)
	}
	config.Database, config.User, config.Password = c.Database, c.Username, string(c.Password)
	if config.Database == "" {
		config.Database = "postgres"
	}
	conn, err := pgx.ConnectConfig(context.WithoutCancel(t.Context()), config) // also while a test cleans up
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) }) // The server may have ended it.
	}
	return conn, err
}

// superuser returns a session of the superuser in a database.
func superuser(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	c := shared.Config()
	conn, err := open(t, database, c.Username, string(c.Password))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// execute runs statements of a test's own.
func execute(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// creating creates an object that the test deletes itself.
func creating[T any, P postgresql.Object[T]](t *testing.T, s *postgresql.Server, x T) error {
	t.Helper()
	_, err := postgresql.Create[T, P](t.Context(), s, x)
	return err
}

// create creates an object and deletes it with the test.
func create[T any, P postgresql.Object[T]](t *testing.T, s *postgresql.Server, x T) *T {
	t.Helper()
	created, err := postgresql.Create[T, P](t.Context(), s, x)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := postgresql.ForceDelete[T, P](context.Background(), s, x); err != nil && !postgresql.IsNotFound(err) {
			t.Error(err)
		}
	})
	return created
}

// newDatabase creates a database, by default of a unique name.
func newDatabase(t *testing.T, s *postgresql.Server, d postgresql.Database) *postgresql.Database {
	t.Helper()
	d.Name = cmp.Or(d.Name, unique(t))
	return create(t, s, d)
}

// newRole creates a role, by default of a unique name.
func newRole(t *testing.T, s *postgresql.Server, r postgresql.Role) *postgresql.Role {
	t.Helper()
	r.Name = cmp.Or(r.Name, unique(t))
	return create(t, s, r)
}

// want fails the test unless an error is of a kind.
func want(t *testing.T, err error, is func(error) bool, kind string) {
	t.Helper()
	if !is(err) {
		t.Errorf("error is not %s: %v", kind, err)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	testkit.Within(t, patience, what, func() error {
		if !so() {
			return errors.New("it is not so yet")
		}
		return nil
	})
}

func ptr[T any](v T) *T { return &v }

func long(n int) string { return strings.Repeat("x", n) }
