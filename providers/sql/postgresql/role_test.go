// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func TestRoleFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	full := postgresql.Role{
		Name: unique(t), Superuser: ptr(true), CreateDB: ptr(true), CreateRole: ptr(true), Inherit: ptr(false), Login: ptr(true),
		Replication: ptr(true), BypassRLS: ptr(true), ConnectionLimit: ptr(3), ValidUntil: ptr("2027-01-31T00:00:00Z"),
		Settings: map[string]string{"statement_timeout": "1s", "search_path": `"$user", public`},
		Comment:  ptr(hostile), Labels: map[string]string{"uid": hostile},
	}
	created := newRole(t, s, full)
	same := resource[postgresql.Role]{
		postgresql.Role{Name: full.Name}, s.UpdateRole,
		func(ctx context.Context) (*postgresql.Role, error) { return s.GetRole(ctx, full.Name) },
	}
	checkUpdates(t, same, created, full, map[string]func(*postgresql.Role){
		"superuser":   func(r *postgresql.Role) { r.Superuser = ptr(false) },
		"createdb":    func(r *postgresql.Role) { r.CreateDB = ptr(false) },
		"createrole":  func(r *postgresql.Role) { r.CreateRole = ptr(false) },
		"inherit":     func(r *postgresql.Role) { r.Inherit = ptr(true) },
		"login":       func(r *postgresql.Role) { r.Login = ptr(false) },
		"replication": func(r *postgresql.Role) { r.Replication = ptr(false) },
		"row security": func(r *postgresql.Role) {
			r.BypassRLS = ptr(false)
		},
		"limit":    func(r *postgresql.Role) { r.ConnectionLimit = ptr(-1) },
		"expiry":   func(r *postgresql.Role) { r.ValidUntil = ptr("infinity") },
		"settings": func(r *postgresql.Role) { r.Settings = map[string]string{"search_path": "public"} },
		"comment":  func(r *postgresql.Role) { r.Comment = ptr("other") },
		"labels":   func(r *postgresql.Role) { r.Labels = map[string]string{"uid": "1", "more": ""} },
	})
}

func TestRoleDefaults(t *testing.T) {
	t.Parallel()
	s := connect(t)
	got := newRole(t, s, postgresql.Role{})
	no := false
	wanted := &postgresql.Role{
		Name: got.Name, Superuser: &no, CreateDB: &no, CreateRole: &no, Inherit: ptr(true), Login: &no, Replication: &no,
		BypassRLS: &no, ConnectionLimit: ptr(-1), ValidUntil: ptr("infinity"), Settings: map[string]string{}, Comment: ptr(""),
	}
	if diff := cmp.Diff(wanted, got, givenBy(postgresql.Role{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := s.DeleteRole(t.Context(), got.Name); err != nil {
		t.Error(err)
	}
	_, err := s.GetRole(t.Context(), got.Name)
	want(t, err, postgresql.IsNotFound, "not found")
	want(t, s.DeleteRole(t.Context(), got.Name), postgresql.IsNotFound, "not found")
	want(t, s.UpdateRole(t.Context(), *got), postgresql.IsNotFound, "not found")
}

func TestRoleThatOwnsCannotGo(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner := newRole(t, s, postgresql.Role{})
	d := newDatabase(t, s, postgresql.Database{Owner: &owner.Name})
	want(t, s.DeleteRole(t.Context(), owner.Name), postgresql.IsConflict, "a conflict")
	if err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRole(t.Context(), owner.Name); err != nil {
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
	is := func(password string) bool {
		is, known, err := s.PasswordIs(t.Context(), r.Name, postgresql.Secret(password))
		if err != nil || !known {
			t.Fatalf("known %t, %v", known, err)
		}
		return is
	}
	if !is("") || is("anything") {
		t.Error("a role without password is thought to have one")
	}
	before := ""
	for _, password := range []string{"first", "it's \\ \"second\" ;--", "größer 名 €"} {
		if err := s.UpdateRole(t.Context(), postgresql.Role{Name: r.Name, Password: postgresql.Secret(password)}); err != nil {
			t.Fatal(err)
		}
		if !is(password) || !logsIn(password) {
			t.Errorf("password %q was not set", password)
		}
		if before != "" && (is(before) || logsIn(before)) {
			t.Errorf("password %q is still good", before)
		}
		before = password
	}
	if err := s.UpdateRole(t.Context(), postgresql.Role{Name: r.Name, ConnectionLimit: ptr(5)}); err != nil || !is(before) {
		t.Errorf("an update without password touched it: %v", err)
	}
	execute(t, superuser(t, "postgres"), "SET password_encryption = md5", "ALTER ROLE "+quote(r.Name)+" PASSWORD 'old'")
	if !is("old") || is("new") {
		t.Error("an MD5 password is not recognised")
	}
	_, _, err := s.PasswordIs(t.Context(), unique(t), "x")
	want(t, err, postgresql.IsNotFound, "not found")
	for _, unusable := range []string{"null\x00", "soft\u00adhyphen", "ligature \ufb01", "no-break\u00a0space", "\xff"} {
		err := s.UpdateRole(t.Context(), postgresql.Role{Name: r.Name, Password: postgresql.Secret(unusable)})
		want(t, err, postgresql.IsInvalid, "invalid")
	}
}

func TestPasswordThatOnlyTheServerSees(t *testing.T) {
	t.Parallel()
	s := connect(t)
	admin := newRole(t, s, postgresql.Role{Login: ptr(true), CreateRole: ptr(true), Password: "admin"})
	limited := connect(t, func(c *postgresql.Config) { c.Username, c.Password = admin.Name, "admin" })
	r := newRole(t, limited, postgresql.Role{Password: "secret"})
	if is, known, err := limited.PasswordIs(t.Context(), r.Name, "secret"); is || known || err != nil {
		t.Errorf("got %t, %t, %v", is, known, err)
	}
}

func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := connect(t)
	admin := newRole(t, s, postgresql.Role{Login: ptr(true), Superuser: ptr(true), Password: "0"})
	limited := connect(t, func(c *postgresql.Config) {
		c.Username, c.Password, c.IdleTimeout = admin.Name, "0", time.Hour
	})
	if _, err := limited.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		password := postgresql.Secret(fmt.Sprint("rotated", i))
		if err := s.UpdateRole(t.Context(), postgresql.Role{Name: admin.Name, Password: password}); err != nil {
			t.Fatal(err)
		}
		if _, err := limited.Version(t.Context()); err != nil {
			t.Errorf("a session from before the rotation: %v", err)
		}
	}
	late := connect(t, func(c *postgresql.Config) { c.Username, c.Password = admin.Name, "0" })
	_, err := late.Version(t.Context())
	want(t, err, postgresql.IsAuthentication, "authentication")
}
