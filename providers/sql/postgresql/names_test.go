// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// uses returns an operation for each place where a name goes into a statement.
func uses(s *postgresql.Server, database, role string) map[string]func(context.Context, string) error {
	target := postgresql.Target{Kind: postgresql.OnTable, Database: database, Schema: "public", Names: []string{"t"}}
	return map[string]func(context.Context, string) error{
		"database": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: name})
			return err
		},
		"template": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: "never", Template: &name})
			return err
		},
		"database owner": func(ctx context.Context, name string) error {
			return postgresql.Update(ctx, s, postgresql.Database{Name: database, Owner: &name})
		},
		"tablespace": func(ctx context.Context, name string) error {
			return postgresql.Update(ctx, s, postgresql.Database{Name: database, Tablespace: &name})
		},
		"role": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Role{Name: name})
			return err
		},
		"setting": func(ctx context.Context, name string) error {
			return postgresql.Update(ctx, s, postgresql.Role{Name: role, Settings: map[string]string{name: "1"}})
		},
		"database of a schema": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Schema{Database: name, Name: "s"})
			return err
		},
		"schema": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Schema{Database: database, Name: name})
			return err
		},
		"extension": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Extension{Database: database, Name: name})
			return err
		},
		"grantee": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, s, postgresql.Grant{Role: name, On: target, Privileges: []string{"SELECT"}})
			return err
		},
		"member": func(ctx context.Context, name string) error {
			on := postgresql.Target{Kind: postgresql.OnRole, Role: role}
			_, err := postgresql.Create(ctx, s, postgresql.Grant{Role: name, On: on})
			return err
		},
	}
}

func TestUnusableNames(t *testing.T) {
	t.Parallel()
	s := connect(t)
	database, role := newDatabase(t, s, postgresql.Database{}).Name, newRole(t, s, postgresql.Role{}).Name
	for place, use := range uses(s, database, role) {
		for problem, name := range map[string]string{
			"too long": long(64), "too long in bytes": strings.Repeat("ü", 32), "NUL": "a\x00b", "no UTF-8": "\xff",
		} {
			err := use(t.Context(), name)
			lookup := (place == "grantee" || place == "member") && postgresql.IsNotFound(err) // No role can have the name.
			if !postgresql.IsInvalid(err) && !lookup {
				t.Errorf("%s, %s: %v", place, problem, err)
			}
		}
	}
	roles := func() (n int) {
		if err := superuser(t, "postgres").QueryRow(t.Context(), "SELECT count(*) FROM pg_roles WHERE rolname IN ($1, $2)",
			long(63), strings.Repeat("ü", 31)).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := roles(); n != 0 {
		t.Errorf("%d names were cut off", n)
	}
}

func TestLongestNames(t *testing.T) {
	t.Parallel()
	s := connect(t)
	for _, name := range []string{
		strings.Repeat("y", 63), strings.Repeat("é", 31) + "z", strings.Repeat(`"`, 63), "select", "Mixed Case",
	} {
		r := newRole(t, s, postgresql.Role{Name: name, Comment: &name})
		if got, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: r.Name}); err != nil || *got.Comment != name {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
		d := newDatabase(t, s, postgresql.Database{Name: name, Owner: &name})
		if err := postgresql.Delete(t.Context(), s, postgresql.Database{Name: d.Name}); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatPostgreSQLRefuses(t *testing.T) {
	t.Parallel()
	s := connect(t)
	name := unique(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	cases := map[string]struct {
		call  func(context.Context) error
		is    func(error) bool
		words string
	}{
		"reserved name": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Role{Name: "pg_mine"})
			return err
		}, postgresql.IsInvalid, "reserved"},
		"setting, and the database is gone again": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: name, Settings: map[string]string{"no_such": "1"}})
			if _, missing := postgresql.Get(ctx, s, postgresql.Database{Name: name}); !postgresql.IsNotFound(missing) {
				t.Errorf("the database: %v", missing)
			}
			return err
		}, func(err error) bool { return postgresql.IsNotFound(err) && !postgresql.IsOutcomeUnknown(err) }, `"no_such"`},
		"encoding, with advice": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: name, Encoding: ptr("LATIN1")})
			return err
		}, postgresql.IsInvalid, "template0"},
		"owner": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: name, Owner: ptr("nobody")})
			return err
		}, postgresql.IsNotFound, "nobody"},
		"expiry": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Role{Name: name, ValidUntil: ptr("tomorrow")})
			return err
		}, postgresql.IsInvalid, "2027-01-31T00:00:00Z"},
		"comment that looks like labels": {func(ctx context.Context) error {
			return postgresql.Update(ctx, s, postgresql.Database{Name: d, Comment: ptr("x\nbowline: a=b")})
		}, postgresql.IsInvalid, "labels"},
		"target with a field of others": {func(ctx context.Context) error {
			on := postgresql.Target{Kind: postgresql.OnTable, Role: name, Database: d, Schema: "public"}
			return postgresql.Update(ctx, s, postgresql.Grant{Role: name, On: on, Privileges: []string{"SELECT"}})
		}, postgresql.IsInvalid, "target.role must not be set for kind Table"},
		"target without a field": {func(ctx context.Context) error {
			on := postgresql.Target{Kind: postgresql.OnTable, Database: d}
			return postgresql.Update(ctx, s, postgresql.Grant{Role: name, On: on, Privileges: []string{"SELECT"}})
		}, postgresql.IsInvalid, "target.schema is required for kind Table"},
		"target with names of nothing": {func(ctx context.Context) error {
			on := postgresql.Target{Kind: postgresql.OnDatabase, Database: d, Names: []string{name}}
			return postgresql.Update(ctx, s, postgresql.Grant{Role: name, On: on, Privileges: []string{"CONNECT"}})
		}, postgresql.IsInvalid, "target.names must not be set for kind Database"},
		"text with NUL": {func(ctx context.Context) error {
			return postgresql.Update(ctx, s, postgresql.Database{Name: d, Comment: ptr("\x00")})
		}, postgresql.IsInvalid, "NUL"},
		"locale provider": {func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Database{Name: name, LocaleProvider: ptr(hostile)})
			return err
		}, postgresql.IsInvalid, "locale provider"},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			err := tc.call(t.Context())
			want(t, err, tc.is, "what it should be")
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("lacks %q: %v", tc.words, err)
			}
		})
	}
	if got, err := postgresql.Get(t.Context(), s, postgresql.Database{Name: d}); err != nil || !cmp.Equal(*got.Comment, "") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Every server needs them, or this client does.
func TestSystemObjects(t *testing.T) {
	t.Parallel()
	own := newDatabase(t, connect(t), postgresql.Database{Name: "own-database"})
	user := newRole(t, connect(t), postgresql.Role{Name: "own-user", Login: ptr(true), Superuser: ptr(true), Password: "own-password"})
	s := connect(t, func(c *postgresql.Config) { c.Database, c.Username, c.Password = own.Name, user.Name, "own-password" })
	for _, name := range []string{"postgres", "template0", "template1", own.Name} {
		refusesChanges(t, s, postgresql.Database{Name: name, ConnectionLimit: ptr(7)})
	}
	for _, name := range []string{"postgres", "pg_monitor", "pg_mine", "public", "none", user.Name} {
		refusesChanges(t, s, postgresql.Role{Name: name, ConnectionLimit: ptr(7)})
	}
	for _, name := range []string{"information_schema", "pg_catalog", "pg_mine"} {
		refusesChanges(t, s, postgresql.Schema{Database: own.Name, Name: name, Comment: ptr("mine")})
	}
	public := postgresql.Schema{Database: own.Name, Name: "public"}
	want(t, postgresql.Delete(t.Context(), s, public), postgresql.IsReserved, "reserved")
	want(t, postgresql.ForceDelete(t.Context(), s, public), postgresql.IsReserved, "reserved")
	if _, err := postgresql.Get(t.Context(), s, postgresql.Database{Name: "postgres"}); err != nil {
		t.Errorf("reading: %v", err)
	}
}

func refusesChanges[T any, P postgresql.Object[T]](t *testing.T, s *postgresql.Server, x T) {
	t.Helper()
	want(t, creating[T, P](t, s, x), postgresql.IsReserved, "reserved")
	want(t, postgresql.Update[T, P](t.Context(), s, x), postgresql.IsReserved, "reserved")
	want(t, postgresql.Delete[T, P](t.Context(), s, x), postgresql.IsReserved, "reserved")
	want(t, postgresql.ForceDelete[T, P](t.Context(), s, x), postgresql.IsReserved, "reserved")
}
