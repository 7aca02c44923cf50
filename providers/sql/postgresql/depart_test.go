// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A scene is a server that many share: a role to delete, and another that owns a database and has an accomplice.
type scene struct {
	s                          *postgresql.Server
	rival, owner, accomplice   string
	database                   string
	asRival, asOwner, asHelper *pgx.Conn // the rival's is in database postgres, the others are in the owner's
}

const scenePassword = "scene-password"

func newScene(t *testing.T, s *postgresql.Server) *scene {
	t.Helper()
	login := func() string {
		return newRole(t, s, postgresql.Role{Login: ptr(true), Password: scenePassword}).Name
	}
	session := func(role, database string) *pgx.Conn {
		conn, err := open(t, database, role, scenePassword)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	w := &scene{s: s, rival: login(), owner: login(), accomplice: login()}
	w.database = newDatabase(t, s, postgresql.Database{Owner: &w.owner, Template: ptr("template0")}).Name
	w.asRival, w.asOwner, w.asHelper = session(w.rival, "postgres"), session(w.owner, w.database), session(w.accomplice, w.database)
	execute(t, w.asOwner, w.quoted("REVOKE ALL ON DATABASE OWN FROM PUBLIC", "GRANT CONNECT ON DATABASE OWN TO HELPER")...)
	return w
}

// quoted replaces RIVAL, HELPER and OWN by the names of the scene.
func (w *scene) quoted(statements ...string) []string {
	names := strings.NewReplacer("RIVAL", quote(w.rival), "HELPER", quote(w.accomplice), "OWN", quote(w.database))
	for i := range statements {
		statements[i] = names.Replace(statements[i])
	}
	return statements
}

// depart takes the rival away as the deletion of a tenant does.
func (w *scene) depart(t *testing.T) error {
	t.Helper()
	if err := w.s.DisableLogin(t.Context(), w.rival); err != nil {
		return fmt.Errorf("locking out: %w", err)
	}
	if err := w.s.DropOwned(t.Context(), w.rival); err != nil {
		return err
	}
	return postgresql.Delete(t.Context(), w.s, postgresql.Role{Name: w.rival})
}

// What ties a role to a server that it shares with others.
var ties = map[string]func(t *testing.T, w *scene){
	"nothing (R55)": func(*testing.T, *scene) {},
	"more large objects of its own than the server has locks (R55)": func(t *testing.T, w *scene) {
		for range 5 {
			execute(t, w.asRival, "SELECT lo_create(0) FROM generate_series(1, 2500)")
		}
	},
	"privileges of every sort (R55)": func(t *testing.T, w *scene) {
		execute(t, w.asOwner, w.quoted("CREATE TABLE t (x int)", "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"GRANT CONNECT ON DATABASE OWN TO RIVAL", "GRANT SELECT ON t TO RIVAL", "GRANT UPDATE (x) ON t TO RIVAL",
			"GRANT EXECUTE ON FUNCTION f TO RIVAL", "GRANT USAGE ON SCHEMA public TO RIVAL", "SELECT lo_create(7)",
			"GRANT SELECT ON LARGE OBJECT 7 TO RIVAL", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO RIVAL",
			"ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t TO RIVAL USING (true)")...)
	},
	"privileges that others than the owner granted (R55)": func(t *testing.T, w *scene) {
		execute(t, w.asOwner, w.quoted(`CREATE TABLE "T" ("X y" int)`, `CREATE SEQUENCE "S"`, "CREATE TYPE e AS ENUM ('a')",
			"CREATE FUNCTION f(e) RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE SCHEMA o", "SELECT lo_create(7)",
			"GRANT CONNECT ON DATABASE OWN TO HELPER WITH GRANT OPTION", `GRANT SELECT ("X y") ON "T" TO HELPER WITH GRANT OPTION`,
			`GRANT USAGE ON SEQUENCE "S" TO HELPER WITH GRANT OPTION`, "GRANT USAGE ON TYPE e TO HELPER WITH GRANT OPTION",
			"GRANT EXECUTE ON FUNCTION f TO HELPER WITH GRANT OPTION", "GRANT USAGE ON SCHEMA o TO HELPER WITH GRANT OPTION",
			"GRANT SELECT ON LARGE OBJECT 7 TO HELPER WITH GRANT OPTION",
			"CREATE TABLE u (x int)", "GRANT SELECT, DELETE ON u TO HELPER WITH GRANT OPTION")...)
		execute(t, w.asHelper, w.quoted("GRANT CONNECT ON DATABASE OWN TO RIVAL", `GRANT SELECT ("X y") ON "T" TO RIVAL`,
			`GRANT USAGE ON SEQUENCE "S" TO RIVAL`, "GRANT USAGE ON TYPE e TO RIVAL", "GRANT EXECUTE ON FUNCTION f TO RIVAL",
			"GRANT USAGE ON SCHEMA o TO RIVAL", "GRANT SELECT ON LARGE OBJECT 7 TO RIVAL",
			"GRANT SELECT, DELETE ON u TO RIVAL")...)
	},
	"a table elsewhere on which others build (R55)": func(t *testing.T, w *scene) {
		execute(t, w.asOwner, w.quoted("CREATE SCHEMA s", "GRANT ALL ON SCHEMA s TO RIVAL", "GRANT CONNECT ON DATABASE OWN TO RIVAL")...)
		guest, err := open(t, w.database, w.rival, scenePassword)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, guest, w.quoted("CREATE TABLE s.t (x int)", "GRANT SELECT ON s.t TO PUBLIC")...)
		execute(t, w.asOwner, "CREATE VIEW v AS SELECT * FROM s.t")
	},
	"a database whose settings are in the way (R55)": func(t *testing.T, w *scene) {
		execute(t, w.asOwner, w.quoted("CREATE TABLE t (x int)", "GRANT SELECT ON t TO RIVAL",
			"ALTER DATABASE OWN SET statement_timeout = 1", "ALTER DATABASE OWN SET default_transaction_read_only = on",
			"ALTER DATABASE OWN SET local_preload_libraries = 'none such'", "ALTER DATABASE OWN SET search_path = 'public'")...)
	},
}

func TestDeparture(t *testing.T) {
	t.Parallel()
	super := connect(t)
	plain, admin := administrator(t, super)
	for as, s := range map[string]*postgresql.Server{"superuser": super, "administrator": plain} {
		for name, tie := range ties {
			t.Run(name+", by "+as, func(t *testing.T) {
				w := newScene(t, s)
				tie(t, w)
				if err := w.depart(t); err != nil {
					t.Error(err)
				}
				want(t, w.s.DisableLogin(t.Context(), w.rival), postgresql.IsNotFound, "not found")
				want(t, w.s.DropOwned(t.Context(), w.rival), postgresql.IsNotFound, "not found")
				if own, _ := memberships(t, admin); own != 0 {
					t.Errorf("the administrator is a member of %d roles afterwards", own)
				}
			})
		}
	}
}

// What others hold of the same things stays.
func TestDepartureLeavesOthers(t *testing.T) {
	t.Parallel()
	w := newScene(t, connect(t))
	ties["privileges that others than the owner granted (R55)"](t, w)
	if err := w.depart(t); err != nil {
		t.Fatal(err)
	}
	execute(t, w.asHelper, `SELECT "X y" FROM "T"`, `SELECT nextval('"S"')`, "GRANT USAGE ON SCHEMA o TO PUBLIC")
}

func TestDepartureFromClosedDatabase(t *testing.T) {
	t.Parallel()
	w := newScene(t, connect(t))
	ties["privileges of every sort (R55)"](t, w)
	closed := postgresql.Database{Name: w.database, AllowConnections: ptr(false)}
	if err := postgresql.Update(t.Context(), w.s, closed); err != nil {
		t.Fatal(err)
	}
	err := w.depart(t)
	want(t, err, postgresql.IsConflict, "a conflict")
	if !strings.Contains(fmt.Sprint(err), fmt.Sprintf("cannot connect to database %q", w.database)) {
		t.Errorf("the error lacks the place: %v (R55)", err)
	}
	if _, err := open(t, "postgres", w.rival, scenePassword); err == nil {
		t.Error("the role can log in (R55)")
	}
	closed.AllowConnections = ptr(true)
	if err := postgresql.Update(t.Context(), w.s, closed); err != nil {
		t.Fatal(err)
	}
	if err := w.depart(t); err != nil {
		t.Errorf("repeated: %v (R38)", err)
	}
}

// The role's own sessions cannot keep it: not by a lock on the role either.
func TestLockOut(t *testing.T) {
	t.Parallel()
	w := newScene(t, connect(t))
	execute(t, w.asRival, w.quoted("BEGIN", "ALTER ROLE RIVAL PASSWORD 'another'")...)
	if err := w.s.DisableLogin(t.Context(), w.rival); err != nil { // as after lock_timeout
		t.Fatal(err)
	}
	if err := w.asRival.Ping(t.Context()); err == nil {
		t.Error("the session lives on")
	}
	if _, err := open(t, "postgres", w.rival, scenePassword); err == nil {
		t.Error("the role can log in")
	}
	if err := w.s.DisableLogin(t.Context(), w.rival); err != nil {
		t.Errorf("repeated: %v (R38)", err)
	}
}

func TestLocksOfOthers(t *testing.T) {
	t.Parallel()
	w := newScene(t, connect(t))
	elsewhere, err := open(t, "postgres", w.owner, scenePassword)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, elsewhere, w.quoted("BEGIN", "COMMENT ON DATABASE OWN IS 'mine'")...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = postgresql.ForceDelete(ctx, w.s, postgresql.Database{Name: w.database})
	want(t, err, postgresql.IsConflict, "a conflict")
	if !strings.Contains(fmt.Sprint(err), "another session holds a lock") {
		t.Error(err)
	}
	execute(t, elsewhere, "ROLLBACK")
}

// TestBrokenDatabase_N66 has a setting by which nobody but superusers can connect.
func TestBrokenDatabase_N66(t *testing.T) {
	t.Parallel()
	s := connect(t)
	admin := newRole(t, s, postgresql.Role{Login: ptr(true), CreateDB: ptr(true), CreateRole: ptr(true), Password: "admin"}).Name
	owner, tied := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	d := newDatabase(t, s, postgresql.Database{Owner: &owner}).Name
	execute(t, superuser(t, d), "CREATE TABLE x (n int)", "GRANT SELECT ON x TO "+quote(tied),
		"ALTER DATABASE "+quote(d)+" SET session_preload_libraries = '/tmp/nope.so'")
	c := shared.Config()
	c.Username, c.Password = admin, "admin"
	ordinary := connectTo(t, c)
	_, err := postgresql.Get(t.Context(), ordinary, postgresql.Schema{Database: d, Name: "public"})
	want(t, err, postgresql.IsConflict, "a conflict")
	if postgresql.IsUnavailable(err) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("connect to database %q", d)) {
		t.Errorf("the server counts as unavailable, or the error lacks the database: %v", err)
	}
	err = ordinary.DropOwned(t.Context(), tied)
	want(t, err, postgresql.IsConflict, "a conflict")
	if !strings.Contains(fmt.Sprint(err), fmt.Sprintf("to database %q of role %q", d, owner)) {
		t.Errorf("the error lacks whose database it is: %v", err)
	}
	if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d, Name: "public"}); err != nil {
		t.Errorf("a superuser cannot connect: %v", err)
	}
	if err := s.DropOwned(t.Context(), tied); err != nil {
		t.Errorf("the setting of another keeps the role: %v", err)
	}
}
