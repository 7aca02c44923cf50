// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// objects makes a database with a schema of hostile name that holds two tables, a view, a sequence and three routines.
func objects(t *testing.T, s *postgresql.Server) (database, schema string) {
	t.Helper()
	database, schema = newDatabase(t, s, postgresql.Database{}).Name, unique(t)
	in := quote(schema) + "."
	execute(t, superuser(t, database), "CREATE SCHEMA "+quote(schema),
		"CREATE TABLE "+in+"one (id int)", "CREATE TABLE "+in+quote(hostile)+" (id int)", "CREATE VIEW "+in+"seen AS SELECT 1",
		"CREATE SEQUENCE "+in+quote(hostile+"s"),
		"CREATE FUNCTION "+in+quote(hostile)+"(integer, b text) RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE FUNCTION "+in+quote(hostile)+"() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE PROCEDURE "+in+"proceed() LANGUAGE sql AS 'SELECT 1'")
	return database, schema
}

// grantee creates a role and takes everything from it at the end, so that it can go.
func grantee(t *testing.T, s *postgresql.Server, databases ...string) string {
	t.Helper()
	r := newRole(t, s, postgresql.Role{})
	t.Cleanup(func() {
		for _, d := range append(databases, "postgres") {
			c := shared.Config()
			if conn, err := open(t, d, c.Username, string(c.Password)); err == nil {
				_, _ = conn.Exec(context.Background(), "DROP OWNED BY "+quote(r.Name))
			}
		}
	})
	return r.Name
}

func TestGrantLife(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d, schema := objects(t, s)
	in := func(kind postgresql.TargetKind, names ...string) postgresql.Target {
		return postgresql.Target{Kind: kind, Database: d, Schema: schema, Names: names}
	}
	execute, all := []string{"EXECUTE"}, []string{"ALL"}
	cases := map[string]struct {
		on                postgresql.Target
		few, many, others []string
		objects           int
	}{
		"database": {
			postgresql.Target{Kind: postgresql.OnDatabase, Database: d}, []string{"connect"}, all, []string{"TEMP"}, 1,
		},
		"schema":         {in(postgresql.OnSchema), []string{"USAGE"}, []string{"CREATE", "usage"}, []string{"CREATE"}, 1},
		"all tables":     {in(postgresql.OnTable), []string{"SELECT"}, []string{"all privileges"}, []string{"UPDATE", "DELETE"}, 3},
		"tables":         {in(postgresql.OnTable, hostile, "seen"), []string{"SELECT"}, []string{"INSERT", "SELECT"}, all, 2},
		"all sequences":  {in(postgresql.OnSequence), []string{"USAGE"}, all, []string{"UPDATE"}, 1},
		"sequence":       {in(postgresql.OnSequence, hostile+"s"), []string{"USAGE"}, all, []string{"UPDATE"}, 1},
		"all routines":   {in(postgresql.OnRoutine), execute, all, []string{"execute"}, 3},
		"overloads":      {in(postgresql.OnRoutine, hostile), execute, all, execute, 2},
		"one function":   {in(postgresql.OnRoutine, hostile+"(integer, b text)"), execute, all, execute, 1},
		"two procedures": {in(postgresql.OnRoutine, "proceed", hostile+"()"), execute, all, execute, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := postgresql.Grant{Role: grantee(t, s, d), On: tc.on, Privileges: tc.few}
			_, err := postgresql.Get(t.Context(), s, g)
			want(t, err, postgresql.IsNotFound, "not found")
			want(t, postgresql.Delete(t.Context(), s, g), postgresql.IsNotFound, "not found")
			created, err := postgresql.Create(t.Context(), s, g)
			if err != nil {
				t.Fatal(err)
			}
			expected := g
			expected.Objects, expected.GrantOption = tc.objects, ptr(false)
			expected.TargetOID, expected.RoleOID = databaseOID(t, s, d), roleOID(t, s, g.Role)
			if diff := cmp.Diff(&expected, created); diff != "" {
				t.Errorf("created: -want +got:\n%s", diff)
			}
			_, err = postgresql.Create(t.Context(), s, g)
			want(t, err, postgresql.IsExists, "exists")
			for _, step := range []struct {
				privileges []string
				option     *bool
			}{{tc.many, ptr(true)}, {tc.few, ptr(true)}, {tc.others, ptr(false)}, {tc.many, nil}, {tc.few, nil}} {
				g.Privileges, g.GrantOption = step.privileges, step.option
				if err := postgresql.Update(t.Context(), s, g); err != nil {
					t.Fatalf("%v: %v", step, err)
				}
				expected.Privileges, expected.GrantOption = step.privileges, ptr(step.option != nil && *step.option)
				got, err := postgresql.Get(t.Context(), s, g)
				if diff := cmp.Diff(&expected, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" || err != nil {
					t.Errorf("%v: %v: -want +got:\n%s", step, err, diff)
				}
			}
			if err := postgresql.Delete(t.Context(), s, g); err != nil {
				t.Fatal(err)
			}
			_, err = postgresql.Get(t.Context(), s, g)
			want(t, err, postgresql.IsNotFound, "not found")
		})
	}
}

func TestGrantDrift(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d, schema := objects(t, s)
	admin := superuser(t, d)
	role := grantee(t, s, d)
	g := postgresql.Grant{
		Role: role, On: postgresql.Target{Kind: postgresql.OnTable, Database: d, Schema: schema}, Privileges: []string{"SELECT", "INSERT"},
	}
	if _, err := postgresql.Create(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	holds := func(privileges ...string) {
		t.Helper()
		got, err := postgresql.Get(t.Context(), s, g)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(privileges, got.Privileges, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	mend := func() {
		t.Helper()
		if err := postgresql.Update(t.Context(), s, g); err != nil {
			t.Fatal(err)
		}
		holds("SELECT", "INSERT")
	}
	execute(t, admin, "CREATE TABLE "+quote(schema)+".later ()") // has none of it
	holds()
	mend()
	execute(t, admin, "REVOKE INSERT ON "+quote(schema)+".one FROM "+quote(role))
	holds("SELECT")
	mend()
	execute(t, admin, "GRANT TRUNCATE ON "+quote(schema)+".later TO "+quote(role))
	holds("SELECT", "INSERT", "TRUNCATE")
	mend()
}

func TestGrantOnNothing(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	role := grantee(t, s, d)
	on := postgresql.Target{Kind: postgresql.OnTable, Database: d, Schema: "public"}
	g := postgresql.Grant{Role: role, On: on, Privileges: []string{"SELECT"}}
	for range 2 { // There is nothing to be held, so all of it is.
		if got, err := postgresql.Create(t.Context(), s, g); err != nil || got.Objects != 0 || !cmp.Equal(got.Privileges, g.Privileges) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	want(t, postgresql.Delete(t.Context(), s, g), postgresql.IsNotFound, "not found")

	missing := map[string]struct {
		change func(*postgresql.Grant)
		is     func(error) bool
	}{
		"role":            {func(g *postgresql.Grant) { g.Role = unique(t) }, postgresql.IsNotFound},
		"database":        {func(g *postgresql.Grant) { g.On.Database = unique(t) }, postgresql.IsNotFound},
		"schema":          {func(g *postgresql.Grant) { g.On.Schema = unique(t) }, postgresql.IsNotFound},
		"table":           {func(g *postgresql.Grant) { g.On.Names = []string{unique(t)} }, postgresql.IsNotFound},
		"privileges":      {func(g *postgresql.Grant) { g.Privileges = nil }, postgresql.IsInvalid},
		"such privilege":  {func(g *postgresql.Grant) { g.Privileges = []string{hostile} }, postgresql.IsInvalid},
		"kind":            {func(g *postgresql.Grant) { g.On.Kind = "" }, postgresql.IsInvalid},
		"need of a role":  {func(g *postgresql.Grant) { g.On.Role = "x" }, postgresql.IsInvalid},
		"need of a names": {func(g *postgresql.Grant) { g.On.Kind, g.On.Names = postgresql.OnSchema, []string{"x"} }, postgresql.IsInvalid},
	}
	for name, tc := range missing {
		t.Run(name, func(t *testing.T) {
			g := g
			tc.change(&g)
			_, err := postgresql.Create(t.Context(), s, g)
			want(t, err, tc.is, "what it should be")
		})
	}
}

func TestGrantOfNamesThatAreGone(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d, schema := objects(t, s)
	role := grantee(t, s, d)
	on := postgresql.Target{Kind: postgresql.OnTable, Database: d, Schema: schema, Names: []string{"one", hostile}}
	g := postgresql.Grant{Role: role, On: on, Privileges: []string{"SELECT"}}
	if _, err := postgresql.Create(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	execute(t, superuser(t, d), "DROP TABLE "+quote(schema)+".one")
	if got, err := postgresql.Get(t.Context(), s, g); err != nil || len(got.Privileges) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	want(t, postgresql.Update(t.Context(), s, g), postgresql.IsNotFound, "not found")
	if err := postgresql.Delete(t.Context(), s, g); err != nil {
		t.Errorf("what is left cannot be revoked: %v", err)
	}
	_, err := postgresql.Get(t.Context(), s, g)
	want(t, err, postgresql.IsNotFound, "not found")
}

func TestGrantToAllRoles(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	g := postgresql.Grant{Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: d}}
	got, err := postgresql.Get(t.Context(), s, g)
	if err != nil || !cmp.Equal(got.Privileges, []string{"CONNECT", "TEMPORARY"}) { // as PostgreSQL makes databases
		t.Fatalf("got %+v, %v", got, err)
	}
	if err := postgresql.Delete(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	_, err = postgresql.Get(t.Context(), s, g)
	want(t, err, postgresql.IsNotFound, "not found")
}

func TestGrantPassedOn(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d, schema := objects(t, s)
	first, second := grantee(t, s, d), grantee(t, s, d)
	on := postgresql.Target{Kind: postgresql.OnSchema, Database: d, Schema: schema}
	g := postgresql.Grant{Role: first, On: on, Privileges: []string{"USAGE"}, GrantOption: ptr(true)}
	if _, err := postgresql.Create(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	holder := superuser(t, d)
	execute(t, holder, "SET ROLE "+quote(first), "GRANT USAGE ON SCHEMA "+quote(schema)+" TO "+quote(second))
	want(t, postgresql.Delete(t.Context(), s, g), postgresql.IsConflict, "a conflict")
	// What another role granted is held, but not by a grant that we could revoke.
	passed := postgresql.Grant{Role: second, On: on, Privileges: []string{"CREATE"}}
	_, err := postgresql.Get(t.Context(), s, passed)
	want(t, err, postgresql.IsNotFound, "not found")
	if got, err := postgresql.Create(t.Context(), s, passed); err != nil || !cmp.Equal(got.Privileges, passed.Privileges) {
		t.Errorf("got %+v, %v", got, err)
	}
	execute(t, holder, "REVOKE USAGE ON SCHEMA "+quote(schema)+" FROM "+quote(second))
}

func databaseOID(t *testing.T, s *postgresql.Server, name string) uint32 {
	t.Helper()
	d, err := postgresql.Get(t.Context(), s, postgresql.Database{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return d.OID
}

// roleOID is 0 for Public.
func roleOID(t *testing.T, s *postgresql.Server, name string) uint32 {
	t.Helper()
	r, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: name})
	if postgresql.IsNotFound(err) && name == postgresql.Public {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.OID
}

func TestMembership(t *testing.T) {
	t.Parallel()
	s := connect(t)
	target := newRole(t, s, postgresql.Role{})
	member, group := newRole(t, s, postgresql.Role{}).Name, target.Name
	g := postgresql.Grant{Role: member, On: postgresql.Target{Kind: postgresql.OnRole, Role: group}}
	_, err := postgresql.Get(t.Context(), s, g)
	want(t, err, postgresql.IsNotFound, "not found")
	want(t, postgresql.Update(t.Context(), s, g), postgresql.IsNotFound, "not found")
	want(t, postgresql.Delete(t.Context(), s, g), postgresql.IsNotFound, "not found")
	created, err := postgresql.Create(t.Context(), s, g)
	expected := g
	expected.Objects, expected.GrantOption, expected.TargetOID, expected.RoleOID = 1, ptr(false), target.OID, roleOID(t, s, member)
	if diff := cmp.Diff(&expected, created); diff != "" || err != nil {
		t.Errorf("%v: -want +got:\n%s", err, diff)
	}
	_, err = postgresql.Create(t.Context(), s, g)
	want(t, err, postgresql.IsExists, "exists")
	for _, option := range []bool{true, false} {
		g.GrantOption = &option
		if err := postgresql.Update(t.Context(), s, g); err != nil {
			t.Fatal(err)
		}
		if got, err := postgresql.Get(t.Context(), s, g); err != nil || *got.GrantOption != option {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if err := postgresql.Delete(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	_, err = postgresql.Get(t.Context(), s, g)
	want(t, err, postgresql.IsNotFound, "not found")
	g.Role, g.On.Role = group, group
	_, err = postgresql.Create(t.Context(), s, g)
	want(t, err, postgresql.IsInvalid, "invalid: a role that is a member of itself")
	g.Role = postgresql.Public
	_, err = postgresql.Create(t.Context(), s, g)
	want(t, err, postgresql.IsInvalid, "invalid: all roles as a member")
}

// Changes of one object's privileges at the same time fail in PostgreSQL itself with an internal error.
func TestConcurrentGrants(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d, schema := objects(t, s)
	another := connect(t) // as another process would
	roles := make([]string, 8)
	for i := range roles {
		roles[i] = grantee(t, s, d)
	}
	errs := make(chan error, 2*len(roles))
	var all sync.WaitGroup
	for _, on := range []postgresql.Target{
		{Kind: postgresql.OnDatabase, Database: d}, {Kind: postgresql.OnTable, Database: d, Schema: schema},
	} {
		for i, role := range roles {
			client := []*postgresql.Server{s, another}[i%2]
			all.Go(func() {
				_, err := postgresql.Create(t.Context(), client, postgresql.Grant{Role: role, On: on, Privileges: []string{"ALL"}})
				errs <- err
			})
		}
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}
