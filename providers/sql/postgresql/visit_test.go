// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// administrator returns a client as managed services give them: it may create databases and roles but is no superuser.
func administrator(t *testing.T, s *postgresql.Server) (*postgresql.Server, string) {
	t.Helper()
	admin := newRole(t, s, postgresql.Role{Login: ptr(true), CreateDB: ptr(true), CreateRole: ptr(true), Password: "admin"}).Name
	return connect(t, func(c *postgresql.Config) { c.Username, c.Password = admin, "admin" }), admin
}

func TestWithoutSuperuser(t *testing.T) {
	t.Parallel()
	s, admin := administrator(t, connect(t))
	first, second := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	d := unique(t)
	steps := []struct {
		what string
		do   func() error
	}{
		{"create a database for another role", func() error {
			_, err := postgresql.Create(t.Context(), s, postgresql.Database{Name: d, Owner: &first, Labels: map[string]string{"uid": "1"}})
			return err
		}},
		{"create a schema for another role", func() error {
			_, err := postgresql.Create(t.Context(), s, postgresql.Schema{Database: d, Name: "s", Owner: &second, Comment: ptr("c")})
			return err
		}},
		{"install a trusted extension", func() error {
			_, err := postgresql.Create(t.Context(), s, postgresql.Extension{Database: d, Name: "hstore"})
			return err
		}},
		{"grant what belongs to others", func() error {
			on := postgresql.Target{Kind: postgresql.OnSchema, Database: d, Schema: "s"}
			_, err := postgresql.Create(t.Context(), s, postgresql.Grant{Role: first, On: on, Privileges: []string{"ALL"}})
			return err
		}},
		{"change it", func() error {
			on := postgresql.Target{Kind: postgresql.OnSchema, Database: d, Schema: "s"}
			return postgresql.Update(t.Context(), s, postgresql.Grant{Role: first, On: on, Privileges: []string{"USAGE"}})
		}},
		{"revoke it", func() error {
			on := postgresql.Target{Kind: postgresql.OnSchema, Database: d, Schema: "s"}
			return postgresql.Delete(t.Context(), s, postgresql.Grant{Role: first, On: on})
		}},
		{"give the schema to another role", func() error {
			return postgresql.Update(t.Context(), s, postgresql.Schema{Database: d, Name: "s", Owner: &first})
		}},
		{"give the database to another role", func() error {
			return postgresql.Update(t.Context(), s, postgresql.Database{Name: d, Owner: &second, ConnectionLimit: ptr(5)})
		}},
		{"change the schema public, which belongs to the owner of the database", func() error {
			return postgresql.Update(t.Context(), s, postgresql.Schema{Database: d, Name: "public", Comment: ptr("ours")})
		}},
		{"delete the schema", func() error {
			return postgresql.Delete(t.Context(), s, postgresql.Schema{Database: d, Name: "s"})
		}},
		{"delete the database", func() error {
			return postgresql.Delete(t.Context(), s, postgresql.Database{Name: d})
		}},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if n, _ := memberships(t, admin); n != 0 {
			t.Fatalf("%s: is a member of %d roles afterwards", step.what, n)
		}
	}
	_, err := postgresql.Create(t.Context(), s, postgresql.Role{Name: unique(t), Superuser: ptr(true)})
	want(t, err, postgresql.IsPermission, "permission")
	_, err = postgresql.Create(t.Context(), s, postgresql.Schema{Database: "postgres", Name: "s"})
	want(t, err, postgresql.IsPermission, "permission")
}

// Only members of a role may end its sessions.
func TestDeletionWithGuests(t *testing.T) {
	t.Parallel()
	s, admin := administrator(t, connect(t))
	owner := newRole(t, s, postgresql.Role{}).Name
	guest := newRole(t, s, postgresql.Role{Login: ptr(true), Password: "guest"}).Name
	d := newDatabase(t, s, postgresql.Database{Owner: &owner}).Name
	session, err := open(t, d, guest, "guest")
	if err != nil {
		t.Fatal(err)
	}
	if err := postgresql.ForceDelete(t.Context(), s, postgresql.Database{Name: d}); err != nil {
		t.Error(err)
	}
	if err := session.Ping(t.Context()); err == nil {
		t.Error("the guest's session lives on")
	}
	if n, _ := memberships(t, admin); n != 0 {
		t.Errorf("is a member of %d roles afterwards", n)
	}
}

// PostgreSQL only warns roles that hold something that they may not pass on.
func TestGrantWithoutEffect(t *testing.T) {
	t.Parallel()
	super := connect(t)
	s, admin := administrator(t, super)
	d := newDatabase(t, super, postgresql.Database{}).Name
	on := postgresql.Target{Kind: postgresql.OnDatabase, Database: d}
	role := grantee(t, super, d)
	give := func(role string, privilege string) postgresql.Grant {
		return postgresql.Grant{Role: role, On: on, Privileges: []string{privilege}}
	}
	for _, g := range []postgresql.Grant{give(admin, "CREATE"), give(role, "TEMP")} {
		if _, err := postgresql.Create(t.Context(), super, g); err != nil {
			t.Fatal(err)
		}
	}
	want(t, postgresql.Update(t.Context(), s, give(role, "CREATE")), postgresql.IsPermission, "permission")
	want(t, postgresql.Delete(t.Context(), s, give(role, "TEMP")), postgresql.IsPermission, "permission")
	if err := postgresql.Delete(t.Context(), super, give(admin, "CREATE")); err != nil {
		t.Error(err)
	}
}

// memberships counts what a role is a member of: by its own grant, which a visit is, and by that of others. From PostgreSQL 16
// on, the creator of a role is made a member of it.
func memberships(t *testing.T, role string) (own, given int) {
	t.Helper()
	if err := superuser(t, "postgres").QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE grantor = member), count(*) FILTER (WHERE grantor <> member)
		FROM pg_auth_members WHERE pg_get_userbyid(member) = $1`, role).Scan(&own, &given); err != nil {
		t.Fatal(err)
	}
	return own, given
}

func TestVisitsAtTheSameTime(t *testing.T) {
	t.Parallel()
	super := connect(t)
	s, admin := administrator(t, super)
	owner := newRole(t, super, postgresql.Role{}).Name
	d := newDatabase(t, super, postgresql.Database{Owner: &owner}).Name
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			name := unique(t)
			if _, err := postgresql.Create(t.Context(), s, postgresql.Schema{Database: d, Name: name, Owner: &owner}); err != nil {
				t.Error(err)
			}
			if err := postgresql.Update(t.Context(), s, postgresql.Database{Name: d, Comment: &name}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, _ := memberships(t, admin); n != 0 {
		t.Errorf("is a member of %d roles afterwards", n)
	}
}

// A membership that was there before stays, also one that gives nothing unasked.
func TestVisitorAtHome(t *testing.T) {
	t.Parallel()
	super := connect(t)
	owner := newRole(t, super, postgresql.Role{}).Name
	for _, inherits := range []bool{true, false} {
		s, admin := administrator(t, super)
		if err := postgresql.Update(t.Context(), super, postgresql.Role{Name: admin, Inherit: &inherits}); err != nil {
			t.Fatal(err)
		}
		on := postgresql.Target{Kind: postgresql.OnRole, Role: owner}
		if _, err := postgresql.Create(t.Context(), super, postgresql.Grant{Role: admin, On: on}); err != nil {
			t.Fatal(err)
		}
		d := unique(t)
		if _, err := postgresql.Create(t.Context(), s, postgresql.Database{Name: d, Owner: &owner}); err != nil {
			t.Fatal(err)
		}
		if err := postgresql.Delete(t.Context(), super, postgresql.Database{Name: d}); err != nil {
			t.Error(err)
		}
		if own, given := memberships(t, admin); own != 0 || given != 1 {
			t.Errorf("inherits %t: is a member of %d and %d roles afterwards", inherits, own, given)
		}
	}
}
