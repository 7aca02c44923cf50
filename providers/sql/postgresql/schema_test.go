// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner, successor := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	d := newDatabase(t, s, postgresql.Database{}).Name
	have := postgresql.Schema{
		Database: d, Name: unique(t), Owner: &owner, Comment: ptr(hostile), Labels: map[string]string{"uid": "42"},
	}
	created, err := s.CreateSchema(t.Context(), have)
	if err != nil {
		t.Fatal(err)
	}
	same := resource[postgresql.Schema]{
		postgresql.Schema{Database: d, Name: have.Name}, s.UpdateSchema,
		func(ctx context.Context) (*postgresql.Schema, error) { return s.GetSchema(ctx, d, have.Name) },
	}
	checkUpdates(t, same, created, have, map[string]func(*postgresql.Schema){
		"owner":   func(x *postgresql.Schema) { x.Owner = &successor },
		"comment": func(x *postgresql.Schema) { x.Comment = ptr("") },
		"labels":  func(x *postgresql.Schema) { x.Labels = map[string]string{"uid": "43"} },
	})
	execute(t, superuser(t, d), "CREATE TABLE "+quote(have.Name)+".t ()")
	err = s.DeleteSchema(t.Context(), d, have.Name, postgresql.DeleteSchemaOptions{})
	want(t, err, postgresql.IsConflict, "a conflict")
	if err := s.DeleteSchema(t.Context(), d, have.Name, postgresql.DeleteSchemaOptions{Cascade: true}); err != nil {
		t.Error(err)
	}
	_, err = s.GetSchema(t.Context(), d, have.Name)
	want(t, err, postgresql.IsNotFound, "not found")
	err = s.DeleteSchema(t.Context(), d, have.Name, postgresql.DeleteSchemaOptions{})
	want(t, err, postgresql.IsNotFound, "not found")
	if err := s.DeleteDatabase(t.Context(), d, postgresql.DeleteDatabaseOptions{Force: true}); err != nil {
		t.Error(err) // Before the roles, which own nothing elsewhere.
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	if _, err := s.CreateSchema(t.Context(), postgresql.Schema{Database: d, Name: hostile}); err != nil {
		t.Fatal(err)
	}
	have := postgresql.Extension{
		Database: d, Name: "hstore", Version: ptr("1.4"), Schema: ptr("public"), Comment: ptr("ours"),
		Labels: map[string]string{"uid": "42"},
	}
	created, err := s.CreateExtension(t.Context(), have)
	if err != nil {
		t.Fatal(err)
	}
	same := resource[postgresql.Extension]{
		postgresql.Extension{Database: d, Name: have.Name}, s.UpdateExtension,
		func(ctx context.Context) (*postgresql.Extension, error) { return s.GetExtension(ctx, d, have.Name) },
	}
	checkUpdates(t, same, created, have, map[string]func(*postgresql.Extension){
		"version": func(x *postgresql.Extension) { x.Version = ptr("1.8") },
		"schema":  func(x *postgresql.Extension) { x.Schema = ptr(hostile) },
		"comment": func(x *postgresql.Extension) { x.Comment = ptr("") },
		"labels":  func(x *postgresql.Extension) { x.Labels = map[string]string{"uid": "43"} },
	})
	err = s.UpdateExtension(t.Context(), postgresql.Extension{Database: d, Name: "hstore", Version: ptr(hostile)})
	want(t, err, postgresql.IsInvalid, "invalid")
	execute(t, superuser(t, d), "CREATE TABLE public.t (h "+quote(hostile)+".hstore)")
	err = s.DeleteExtension(t.Context(), d, "hstore", postgresql.DeleteExtensionOptions{})
	want(t, err, postgresql.IsConflict, "a conflict")
	if err := s.DeleteExtension(t.Context(), d, "hstore", postgresql.DeleteExtensionOptions{Cascade: true}); err != nil {
		t.Error(err)
	}
	err = s.DeleteExtension(t.Context(), d, "hstore", postgresql.DeleteExtensionOptions{})
	want(t, err, postgresql.IsNotFound, "not found")
}

func TestExtensionDefaults(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	_, err := s.CreateExtension(t.Context(), postgresql.Extension{Database: d, Name: "earthdistance"})
	want(t, err, postgresql.IsNotFound, "not found: it needs another extension")
	got, err := s.CreateExtension(t.Context(), postgresql.Extension{
		Database: d, Name: "earthdistance", InstallDependencies: true, Labels: map[string]string{"uid": "42"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if *got.Version == "" {
		t.Error("the version is missing")
	}
	wanted := &postgresql.Extension{
		Database: d, Name: "earthdistance", Version: got.Version, Schema: ptr("public"), Labels: map[string]string{"uid": "42"},
		Comment: ptr("calculate great-circle distances on the surface of the Earth"),
	}
	if diff := cmp.Diff(wanted, got, givenBy(postgresql.Extension{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = s.CreateExtension(t.Context(), postgresql.Extension{Database: d, Name: "earthdistance"})
	want(t, err, postgresql.IsExists, "exists")
	_, err = s.CreateExtension(t.Context(), postgresql.Extension{Database: d, Name: hostile})
	want(t, err, postgresql.IsInvalid, "invalid")
}
