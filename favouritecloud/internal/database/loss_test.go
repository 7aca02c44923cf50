// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// Clients find no other database under the name of theirs, unless its loss is accepted. Advice fits a role with another name, too.
func TestLostNamesAreReported(t *testing.T) {
	t.Parallel()
	d, s, r := newDriver(t)
	open := func(role string) *pgconn.PgConn {
		session, err := connect(t.Context(), host.Loopback, setting(s, "port"), func(c *pgconn.Config) {
			c.User, c.Password, c.Database = role, r.Password, "template1"
		})
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	session := open(username)
	create := session.Exec(t.Context(), "create role another superuser login password '"+r.Password+"'").Close()
	if err := errors.Join(create, session.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	session = open("another") // no user can rename itself
	defer session.Close(t.Context())
	run := func(statements ...string) func() error {
		return func() (err error) {
			for _, sql := range statements {
				err = errors.Join(err, session.Exec(t.Context(), sql).Close())
			}
			return err
		}
	}
	for _, step := range []struct {
		happens func() error
		want    string
	}{
		{run("alter database postgres rename to kept", "create database postgres"), "and created anew: it has OID"},
		{run("drop database postgres", "alter database kept rename to postgres"), ""},
		{run("drop database postgres"), "if it was dropped, restore a backup, or run: create database postgres, and"},
		{run("create database postgres"), "if the loss is meant, delete " + filepath.Join(d.Data(), databaseFile)},
		{func() error { return os.Remove(filepath.Join(d.Data(), databaseFile)) }, ""},
		{run("alter role postgres rename to moved"), "if it has another name: alter role FORMER_NAME rename to postgres"},
		{run("alter role moved rename to postgres"), ""},
	} {
		if err := step.happens(); err != nil {
			t.Fatal(err)
		}
		err := d.AwaitReady(t.Context(), s, r)
		if _, is := errors.AsType[*host.Fault](err); is != (step.want != "") || is && !strings.Contains(err.Error(), step.want) {
			t.Errorf("got %v, want %q", err, step.want)
		}
	}
}
