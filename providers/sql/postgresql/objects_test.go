// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// comparable ignores the fields that only the server sets, and those that it does not return.
var comparable = cmp.FilterPath(func(p cmp.Path) bool {
	return slices.Contains([]string{".OID", ".DatabaseOID", ".CurrentOwner", ".InstalledVersion", ".CollationVersion", ".Template"}, p.Last().String())
}, cmp.Ignore())

// checkLife creates an object, given by its identity and all its fields, changes one field after the other, in any order, and
// expects it unchanged otherwise. Then it deletes it.
func checkLife[T any, P postgresql.Object[T]](t *testing.T, s *postgresql.Server, identity, have T, changes map[string]func(*T)) {
	t.Helper()
	want(t, postgresql.Update[T, P](t.Context(), s, identity), postgresql.IsNotFound, "not found")
	created, err := postgresql.Create[T, P](t.Context(), s, have)
	if diff := cmp.Diff(&have, created, comparable); diff != "" || err != nil {
		t.Fatalf("created: %v -want +got:\n%s", err, diff)
	}
	_, err = postgresql.Create[T, P](t.Context(), s, have)
	want(t, err, postgresql.IsExists, "exists")
	changes["nothing"] = func(*T) {}
	for name, change := range changes {
		update := identity
		change(&have)
		change(&update)
		if err := postgresql.Update[T, P](t.Context(), s, update); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := postgresql.Get[T, P](t.Context(), s, identity)
		if diff := cmp.Diff(&have, got, comparable); diff != "" || err != nil {
			t.Errorf("%s: %v -want +got:\n%s", name, err, diff)
		}
	}
	if err := postgresql.Delete[T, P](t.Context(), s, identity); err != nil {
		t.Errorf("deleting: %v", err)
	}
	_, err = postgresql.Get[T, P](t.Context(), s, identity)
	want(t, err, postgresql.IsNotFound, "not found")
	want(t, postgresql.Delete[T, P](t.Context(), s, identity), postgresql.IsNotFound, "not found")
}

func TestDatabaseFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner, successor := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	full := postgresql.Database{
		Name: unique(t), Owner: &owner, Encoding: ptr("UTF8"), LCCollate: ptr("C"), LCCtype: ptr("C"), Template: ptr("template0"),
		LocaleProvider: ptr("icu"), ICULocale: ptr("de"), Tablespace: ptr("pg_default"), AllowConnections: ptr(true),
		ConnectionLimit: ptr(7), IsTemplate: ptr(true), Settings: map[string]string{"work_mem": "8MB", "app.note": hostile},
		Comment: ptr("line\n" + hostile), Labels: map[string]string{"uid": "42", "a;b=c\n": hostile}, OwnerConnects: true,
	}
	checkLife(t, s, postgresql.Database{Name: full.Name}, full, map[string]func(*postgresql.Database){
		"owner":           func(d *postgresql.Database) { d.Owner = &successor },
		"connections":     func(d *postgresql.Database) { d.AllowConnections = ptr(false) },
		"limit":           func(d *postgresql.Database) { d.ConnectionLimit = ptr(-1) },
		"template":        func(d *postgresql.Database) { d.IsTemplate = ptr(false) },
		"setting changed": func(d *postgresql.Database) { d.Settings = with(d.Settings, "work_mem", "9MB") },
		"setting list":    func(d *postgresql.Database) { d.Settings = with(d.Settings, "search_path", `"$user", "a ""b"", c"`) },
		"setting empty":   func(d *postgresql.Database) { d.Settings = with(d.Settings, "app.note", "") },
		"comment":         func(d *postgresql.Database) { d.Comment = ptr("another") },
		"labels":          func(d *postgresql.Database) { d.Labels = map[string]string{"uid": "43"} },
		"no comment":      func(d *postgresql.Database) { d.Comment = ptr("") },
	})
}

// with returns settings with one more; those that an update does not name are left alone.
func with(settings map[string]string, name, value string) map[string]string {
	more := map[string]string{}
	maps.Copy(more, settings)
	more[name] = value
	return more
}

func TestRoleFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	full := postgresql.Role{
		Name: unique(t), Superuser: ptr(true), CreateDB: ptr(true), CreateRole: ptr(true), Inherit: ptr(false), Login: ptr(true),
		Replication: ptr(true), BypassRLS: ptr(true), ConnectionLimit: ptr(3), ValidUntil: ptr("2027-01-31T00:00:00Z"),
		Settings: map[string]string{"statement_timeout": "1s", "search_path": `"$user", public`},
		Comment:  ptr(hostile), Labels: map[string]string{"uid": hostile},
	}
	checkLife(t, s, postgresql.Role{Name: full.Name}, full, map[string]func(*postgresql.Role){
		"superuser":    func(r *postgresql.Role) { r.Superuser = ptr(false) },
		"createdb":     func(r *postgresql.Role) { r.CreateDB = ptr(false) },
		"createrole":   func(r *postgresql.Role) { r.CreateRole = ptr(false) },
		"inherit":      func(r *postgresql.Role) { r.Inherit = ptr(true) },
		"login":        func(r *postgresql.Role) { r.Login = ptr(false) },
		"replication":  func(r *postgresql.Role) { r.Replication = ptr(false) },
		"row security": func(r *postgresql.Role) { r.BypassRLS = ptr(false) },
		"limit":        func(r *postgresql.Role) { r.ConnectionLimit = ptr(-1) },
		"expiry":       func(r *postgresql.Role) { r.ValidUntil = ptr("infinity") },
		"settings":     func(r *postgresql.Role) { r.Settings = with(r.Settings, "search_path", "public") },
		"comment":      func(r *postgresql.Role) { r.Comment = ptr("other") },
		"labels":       func(r *postgresql.Role) { r.Labels = map[string]string{"uid": "1", "more": ""} },
	})
	no := false
	got := newRole(t, s, postgresql.Role{})
	defaults := &postgresql.Role{
		Name: got.Name, Superuser: &no, CreateDB: &no, CreateRole: &no, Inherit: ptr(true), Login: &no, Replication: &no,
		BypassRLS: &no, ConnectionLimit: ptr(-1), ValidUntil: ptr("infinity"), Settings: map[string]string{}, Comment: ptr(""),
	}
	if diff := cmp.Diff(defaults, got, comparable); diff != "" {
		t.Errorf("defaults -want +got:\n%s", diff)
	}
}

func TestSchemaFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner, successor := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	id := postgresql.Schema{Database: newDatabase(t, s, postgresql.Database{}).Name, Name: unique(t)}
	full := id
	full.Owner, full.Comment, full.Labels = &owner, ptr(hostile), map[string]string{"uid": "42"}
	checkLife(t, s, id, full, map[string]func(*postgresql.Schema){
		"owner":   func(x *postgresql.Schema) { x.Owner = &successor },
		"comment": func(x *postgresql.Schema) { x.Comment = ptr("") },
		"labels":  func(x *postgresql.Schema) { x.Labels = map[string]string{"uid": "43"} },
	})
	if _, err := postgresql.Create(t.Context(), s, id); err != nil {
		t.Fatal(err)
	}
	execute(t, superuser(t, id.Database), "CREATE TABLE "+quote(id.Name)+".t ()")
	want(t, postgresql.Delete(t.Context(), s, id), postgresql.IsConflict, "a conflict")
	if err := postgresql.ForceDelete(t.Context(), s, id); err != nil {
		t.Error(err)
	}
}

func TestExtensionFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	id := postgresql.Extension{Database: newDatabase(t, s, postgresql.Database{}).Name, Name: "hstore"}
	if _, err := postgresql.Create(t.Context(), s, postgresql.Schema{Database: id.Database, Name: hostile}); err != nil {
		t.Fatal(err)
	}
	full := id
	full.Version, full.Schema, full.Comment, full.Labels = ptr("1.4"), ptr("public"), ptr("ours"), map[string]string{"uid": "42"}
	checkLife(t, s, id, full, map[string]func(*postgresql.Extension){
		"version": func(x *postgresql.Extension) { x.Version = ptr("1.8") },
		"schema":  func(x *postgresql.Extension) { x.Schema = ptr(hostile) },
		"comment": func(x *postgresql.Extension) { x.Comment = ptr("") },
		"labels":  func(x *postgresql.Extension) { x.Labels = map[string]string{"uid": "43"} },
	})
	if _, err := postgresql.Create(t.Context(), s, id); err != nil {
		t.Fatal(err)
	}
	wrong := id
	wrong.Version = ptr(hostile)
	want(t, postgresql.Update(t.Context(), s, wrong), postgresql.IsInvalid, "invalid")
	execute(t, superuser(t, id.Database), "CREATE TABLE public.t (h public.hstore)")
	want(t, postgresql.Delete(t.Context(), s, id), postgresql.IsConflict, "a conflict")
	if err := postgresql.ForceDelete(t.Context(), s, id); err != nil {
		t.Error(err)
	}

	needy := postgresql.Extension{Database: id.Database, Name: "earthdistance", Labels: map[string]string{"uid": "42"}}
	_, err := postgresql.Create(t.Context(), s, needy)
	want(t, err, postgresql.IsNotFound, "not found: it needs another extension")
	needy.InstallDependencies = true
	got, err := postgresql.Create(t.Context(), s, needy)
	if err != nil || *got.Version == "" {
		t.Fatal(got, err)
	}
	needy.Version, needy.Schema, needy.InstallDependencies = got.Version, ptr("public"), false
	needy.Comment = ptr("calculate great-circle distances on the surface of the Earth")
	if diff := cmp.Diff(&needy, got, comparable); diff != "" {
		t.Errorf("defaults -want +got:\n%s", diff)
	}
	_, err = postgresql.Create(t.Context(), s, postgresql.Extension{Database: id.Database, Name: hostile})
	want(t, err, postgresql.IsInvalid, "invalid")
}

func TestDatabaseTablespace(t *testing.T) {
	t.Parallel()
	s := connect(t)
	space, admin := unique(t), superuser(t, "postgres")
	execute(t, admin, "SET allow_in_place_tablespaces = on", "CREATE TABLESPACE "+quote(space)+" LOCATION ''")
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), "DROP TABLESPACE "+quote(space)) })
	d := connected(t, s, postgresql.Database{})
	if err := postgresql.Update(t.Context(), s, postgresql.Database{Name: d.Name, Tablespace: &space}); err != nil {
		t.Fatal(err)
	}
	if got, err := postgresql.Get(t.Context(), s, d); err != nil || *got.Tablespace != space {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := postgresql.Delete(t.Context(), s, d); err != nil {
		t.Error(err)
	}
}

// connected returns the identity of a new database to which the client has an idle connection.
func connected(t *testing.T, s *postgresql.Server, d postgresql.Database) postgresql.Database {
	t.Helper()
	d = postgresql.Database{Name: newDatabase(t, s, d).Name}
	if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d.Name, Name: "public"}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDatabaseSessions(t *testing.T) {
	t.Parallel()
	s := connect(t)
	t.Run("own idle connections do not prevent deletion", func(t *testing.T) {
		t.Parallel()
		d := connected(t, s, postgresql.Database{IsTemplate: ptr(true)})
		if err := postgresql.Delete(t.Context(), s, d); err != nil {
			t.Error(err)
		}
		_, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d.Name, Name: "public"})
		want(t, err, postgresql.IsNotFound, "not found")
	})
	t.Run("own idle connections do not prevent copies", func(t *testing.T) {
		t.Parallel()
		template := connected(t, s, postgresql.Database{Comment: ptr("not copied")})
		if copied := newDatabase(t, s, postgresql.Database{Template: &template.Name}); *copied.Comment != "" {
			t.Errorf("got %+v", copied)
		}
	})
	t.Run("sessions of others prevent deletion", func(t *testing.T) {
		t.Parallel()
		d := connected(t, s, postgresql.Database{})
		other := superuser(t, d.Name)
		want(t, postgresql.Delete(t.Context(), s, d), postgresql.IsConflict, "a conflict")
		if err := postgresql.ForceDelete(t.Context(), s, d); err != nil {
			t.Error(err)
		}
		if err := other.Ping(t.Context()); err == nil {
			t.Error("the session is not terminated")
		}
	})
	t.Run("the caller gives up", func(t *testing.T) {
		t.Parallel()
		d := connected(t, s, postgresql.Database{})
		superuser(t, d.Name)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // The server itself waits for five seconds.
		defer cancel()
		err := postgresql.Delete(ctx, s, d)
		want(t, err, postgresql.IsUnavailable, "unavailable")
		if postgresql.IsOutcomeUnknown(err) {
			t.Error(err)
		}
		if _, err := postgresql.Get(t.Context(), s, d); err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentCreate(t *testing.T) {
	t.Parallel()
	s := connect(t)
	name, d := unique(t), newDatabase(t, s, postgresql.Database{}).Name
	t.Cleanup(func() {
		_ = postgresql.Delete(context.Background(), s, postgresql.Database{Name: name})
		_ = postgresql.Delete(context.Background(), s, postgresql.Role{Name: name})
	})
	for kind, create := range map[string]func() error{
		"database":  func() error { return creating(t, s, postgresql.Database{Name: name}) },
		"role":      func() error { return creating(t, s, postgresql.Role{Name: name}) },
		"schema":    func() error { return creating(t, s, postgresql.Schema{Database: d, Name: name}) },
		"extension": func() error { return creating(t, s, postgresql.Extension{Database: d, Name: "hstore"}) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = create() })
			}
			all.Wait()
			failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
			if len(failed) != 3 {
				t.Errorf("not one of 4 creations succeeded: %v", failed)
			}
			for _, err := range failed {
				want(t, err, postgresql.IsExists, "exists")
			}
		})
	}
}

func TestRoleOfAnOwner(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner := postgresql.Role{Name: newRole(t, s, postgresql.Role{}).Name}
	d := newDatabase(t, s, postgresql.Database{Owner: &owner.Name})
	want(t, postgresql.Delete(t.Context(), s, owner), postgresql.IsConflict, "a conflict")
	if err := postgresql.Delete(t.Context(), s, postgresql.Database{Name: d.Name}); err != nil {
		t.Fatal(err)
	}
	if err := postgresql.Delete(t.Context(), s, owner); err != nil {
		t.Error(err)
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	s := connect(t)
	r := newRole(t, s, postgresql.Role{Login: ptr(true)})
	logsIn := func(password string) bool {
		_, err := open(t, "postgres", r.Name, password)
		return err == nil
	}
	before := "none"
	for _, password := range []string{"first", "it's \\ \"second\" ;--", "größer 名 €", "🙂"} {
		if err := postgresql.Update(t.Context(), s, postgresql.Role{Name: r.Name, Password: postgresql.Secret(password)}); err != nil {
			t.Fatal(err)
		}
		if !logsIn(password) || logsIn(before) {
			t.Errorf("password %q was not set instead of %q", password, before)
		}
		before = password
	}
	err := postgresql.Update(t.Context(), s, postgresql.Role{Name: r.Name, ConnectionLimit: ptr(5)})
	if err != nil || !logsIn(before) {
		t.Errorf("an update without password changed it: %v", err)
	}
	for _, unusable := range []string{
		"null\x00", "tab\t", "soft\u00adhyphen", "ligature \ufb01", "no-break\u00a0space", "\xff", "gro\u0308sser", "☺\ufe0f", "a\u034fb",
	} {
		err := postgresql.Update(t.Context(), s, postgresql.Role{Name: r.Name, Password: postgresql.Secret(unusable)})
		want(t, err, postgresql.IsInvalid, "invalid")
	}
}

func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := connect(t)
	admin := newRole(t, s, postgresql.Role{Login: ptr(true), Superuser: ptr(true), Password: "0"})
	as := func(c *postgresql.Config) { c.Username, c.Password, c.IdleTimeout = admin.Name, "0", time.Hour }
	limited := connect(t, as)
	for _, password := range []postgresql.Secret{"0", "1", "2"} {
		if err := postgresql.Update(t.Context(), s, postgresql.Role{Name: admin.Name, Password: password}); err != nil {
			t.Fatal(err)
		}
		if _, err := limited.Version(t.Context()); err != nil {
			t.Errorf("a session from before the rotation: %v", err)
		}
	}
	_, err := connect(t, as).Version(t.Context())
	want(t, err, postgresql.IsAuthentication, "authentication")
}

func TestSpelling(t *testing.T) {
	t.Parallel()
	s := connect(t)
	want := map[string]string{"Work_Mem": "64MB", "search_path": `App,"Two"`, "datestyle": "ISO, MDY"}
	stored := map[string]string{"work_mem": "64MB", "search_path": `app, "Two"`, "DateStyle": "ISO, MDY"}
	r := newRole(t, s, postgresql.Role{Settings: want})
	for range 2 { // An update without differences changes nothing.
		got, err := postgresql.Get(t.Context(), s, *r)
		if diff := cmp.Diff(stored, got.Settings); diff != "" || err != nil {
			t.Errorf("stored: %v -want +got:\n%s", err, diff)
		}
		if diff := cmp.Diff(want, postgresql.SpellSettings(got.Settings, want)); diff != "" {
			t.Errorf("spelled: -want +got:\n%s", diff)
		}
		if err := postgresql.Update(t.Context(), s, postgresql.Role{Name: r.Name, Settings: want}); err != nil {
			t.Fatal(err)
		}
	}
	twice := postgresql.Role{Name: r.Name, Settings: map[string]string{"work_mem": "64MB", "Work_mem": "64MB"}}
	if err := postgresql.Update(t.Context(), s, twice); !postgresql.IsInvalid(err) {
		t.Errorf("a setting that is given twice: %v", err)
	}
	for other, same := range map[string]bool{"UTF8": true, "utf-8": true, "Unicode": true, "LATIN1": false, "none such": false} {
		if got, err := s.SameEncoding(t.Context(), "UTF8", other); err != nil || got != same {
			t.Errorf("UTF8 and %s: %t, %v", other, got, err)
		}
	}
}
