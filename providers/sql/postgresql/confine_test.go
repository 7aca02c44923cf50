// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func TestRolesWithLabel(t *testing.T) {
	t.Parallel()
	s := connect(t)
	own := newRole(t, s, postgresql.Role{Comment: ptr("text"), Labels: map[string]string{"marked": "a b", "more": "c"}}).Name
	newRole(t, s, postgresql.Role{Labels: map[string]string{"marked": "a bc"}})
	newRole(t, s, postgresql.Role{Labels: map[string]string{"un-marked": "a b"}})
	newRole(t, s, postgresql.Role{Comment: ptr("bowline: marked=a+b\nand more text"), Labels: map[string]string{"more": "c"}})
	got, err := s.RolesWithLabel(t.Context(), "marked", "a b")
	if diff := cmp.Diff([]string{own}, got); err != nil || diff != "" {
		t.Errorf("%v -want +got:\n%s", err, diff)
	}
}

func TestUntrusted_N66(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	create(t, s, postgresql.Extension{Database: d, Name: "cube"})
	for name, tc := range map[string]struct {
		x    postgresql.Extension
		want []string
	}{
		"trusted":                   {postgresql.Extension{Name: "citext"}, []string{}},
		"trusted in an old version": {postgresql.Extension{Name: "citext", Version: ptr("1.4")}, []string{}},
		"untrusted":                 {postgresql.Extension{Name: "dblink"}, []string{"dblink"}},
		"untrusted with a version":  {postgresql.Extension{Name: "dblink", Version: ptr("1.2")}, []string{"dblink"}},
		"installed dependencies":    {postgresql.Extension{Name: "earthdistance", InstallDependencies: true}, []string{"earthdistance"}},
		"unknown":                   {postgresql.Extension{Name: "no-such"}, []string{}},
	} {
		tc.x.Database = d
		got, err := s.Untrusted(t.Context(), tc.x)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v -want +got:\n%s", name, err, diff)
		}
	}
}

// TestGrantWithin_N66 has an extension's function, which is not for everyone, come into the schema at different times.
func TestGrantWithin_N66(t *testing.T) {
	t.Parallel()
	s, labels := connect(t), map[string]string{"team": "a"}
	owner := newRole(t, s, postgresql.Role{Labels: map[string]string{"team": "a", "more": "b"}}).Name
	other := newRole(t, s, postgresql.Role{Labels: map[string]string{"team": "ab"}}).Name // has the label as a prefix
	reader := newRole(t, s, postgresql.Role{}).Name
	d := newDatabase(t, s, postgresql.Database{Owner: &owner}).Name
	session := superuser(t, d)
	execute(t, session, "CREATE SCHEMA x AUTHORIZATION "+quote(owner), "SET check_function_bodies = off",
		"CREATE FUNCTION x.own() RETURNS int LANGUAGE sql AS 'SELECT 1'", "ALTER FUNCTION x.own() OWNER TO "+quote(owner),
		"REVOKE EXECUTE ON FUNCTION x.own() FROM PUBLIC", "CREATE FUNCTION x.public() RETURNS int LANGUAGE sql AS 'SELECT 1'")
	g := postgresql.Grant{Role: reader, Privileges: []string{"EXECUTE"}, Within: labels,
		On: postgresql.Target{Kind: postgresql.OnRoutine, Database: d, Schema: "x"}}
	create(t, s, g)
	execute(t, session, "CREATE FUNCTION x.power() RETURNS int LANGUAGE sql AS 'SELECT 1'", "REVOKE EXECUTE ON FUNCTION x.power() FROM PUBLIC")
	foreign := func(err error, owner string) {
		t.Helper()
		refused, ok := errors.AsType[*postgresql.OwnerError](err)
		if diff := cmp.Diff(&postgresql.OwnerError{Object: "x.power()", Owner: owner}, refused); !ok || diff != "" {
			t.Errorf("%v -want +got:\n%s", err, diff)
		}
	}
	super := shared.Config().Username
	_, err := postgresql.Get(t.Context(), s, g)
	foreign(err, super)
	foreign(postgresql.Update(t.Context(), s, g), super)
	execute(t, session, "ALTER FUNCTION x.power() OWNER TO "+quote(other))
	foreign(postgresql.Update(t.Context(), s, g), other)
	var may bool
	if err := session.QueryRow(t.Context(), "SELECT has_function_privilege($1, 'x.power()', 'EXECUTE')", reader).Scan(&may); err != nil || may {
		t.Errorf("the privilege was given: %t, %v", may, err)
	}
	option := g
	option.GrantOption, option.On.Names = ptr(true), []string{"public"}
	if _, ok := errors.AsType[*postgresql.OwnerError](postgresql.Update(t.Context(), s, option)); !ok {
		t.Error("the grant option for what everyone has was given")
	}
	execute(t, session, "ALTER FUNCTION x.power() OWNER TO "+quote(owner))
	if err := postgresql.Update(t.Context(), s, g); err != nil {
		t.Error(err)
	}
}
