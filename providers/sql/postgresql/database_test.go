// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// given compares only what the wanted side says.
func givenBy(want any) cmp.Option {
	of := reflect.TypeOf(want)
	return cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return p.Index(-2).Type() == of && (name == ".OID" || name == ".CurrentOwner" || name == ".InstalledVersion")
	}, cmp.Ignore())
}

func TestDatabaseFields(t *testing.T) {
	t.Parallel()
	s := connect(t)
	owner, successor := newRole(t, s, postgresql.Role{}).Name, newRole(t, s, postgresql.Role{}).Name
	full := postgresql.Database{
		Name: unique(t), Owner: &owner, Encoding: ptr("UTF8"), LCCollate: ptr("C"), LCCtype: ptr("C"),
		LocaleProvider: ptr("icu"), ICULocale: ptr("de"), Tablespace: ptr("pg_default"), AllowConnections: ptr(true),
		ConnectionLimit: ptr(7), IsTemplate: ptr(true), Settings: map[string]string{"work_mem": "8MB", "app.note": hostile},
		Comment: ptr("line\n" + hostile), Labels: map[string]string{"uid": "42", "a;b=c\n": hostile},
	}
	asked := full
	asked.Template = ptr("template0")
	created := newDatabase(t, s, asked)
	if created.OID == 0 || created.CollationVersion == "" {
		t.Errorf("outputs are missing: %+v", created)
	}
	full.CollationVersion = created.CollationVersion
	same := resource[postgresql.Database]{
		postgresql.Database{Name: full.Name}, s.UpdateDatabase,
		func(ctx context.Context) (*postgresql.Database, error) { return s.GetDatabase(ctx, full.Name) },
	}
	checkUpdates(t, same, created, full, map[string]func(*postgresql.Database){
		"owner":           func(d *postgresql.Database) { d.Owner = &successor },
		"connections":     func(d *postgresql.Database) { d.AllowConnections = ptr(false) },
		"limit":           func(d *postgresql.Database) { d.ConnectionLimit = ptr(-1) },
		"template":        func(d *postgresql.Database) { d.IsTemplate = ptr(false) },
		"setting changed": func(d *postgresql.Database) { d.Settings = map[string]string{"work_mem": "9MB", "app.note": hostile} },
		"setting reset":   func(d *postgresql.Database) { d.Settings = map[string]string{"work_mem": "9MB"} },
		"setting list": func(d *postgresql.Database) {
			d.Settings = map[string]string{"search_path": `"$user", public, "a ""b"", c"`}
		},
		"settings none": func(d *postgresql.Database) { d.Settings = map[string]string{} },
		"comment":       func(d *postgresql.Database) { d.Comment = ptr("another") },
		"labels":        func(d *postgresql.Database) { d.Labels = map[string]string{"uid": "43"} },
		"no comment":    func(d *postgresql.Database) { d.Comment = ptr("") },
	})
	if err := s.DeleteDatabase(t.Context(), full.Name, postgresql.DeleteDatabaseOptions{}); err != nil {
		t.Errorf("deleting: %v", err)
	}
}

func TestDatabaseTablespace(t *testing.T) {
	t.Parallel()
	s := connect(t)
	folder, err := os.MkdirTemp("", "tablespace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if os.Geteuid() == 0 {
		giveToPostgres(t, folder)
	}
	space := unique(t)
	admin := superuser(t, "postgres")
	execute(t, admin, "CREATE TABLESPACE "+quote(space)+" LOCATION '"+folder+"'")
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), "DROP TABLESPACE "+quote(space)) })
	d := newDatabase(t, s, postgresql.Database{})
	if _, err := s.GetSchema(t.Context(), d.Name, "public"); err != nil { // leaves a connection, which is in the way
		t.Fatal(err)
	}
	if err := s.UpdateDatabase(t.Context(), postgresql.Database{Name: d.Name, Tablespace: &space}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetDatabase(t.Context(), d.Name); err != nil || *got.Tablespace != space {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{}); err != nil {
		t.Error(err)
	}
}

func TestDatabaseDeletion(t *testing.T) {
	t.Parallel()
	s := connect(t)
	t.Run("our own idle connections are not in the way", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t, s, postgresql.Database{})
		if _, err := s.GetSchema(t.Context(), d.Name, "public"); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{}); err != nil {
			t.Error(err)
		}
		_, err := s.GetDatabase(t.Context(), d.Name)
		want(t, err, postgresql.IsNotFound, "not found")
		want(t, s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{}), postgresql.IsNotFound, "not found")
		_, err = s.GetSchema(t.Context(), d.Name, "public")
		want(t, err, postgresql.IsNotFound, "not found")
	})
	t.Run("a template", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t, s, postgresql.Database{IsTemplate: ptr(true), AllowConnections: ptr(false)})
		if err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("sessions of others", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t, s, postgresql.Database{})
		other := superuser(t, d.Name)
		err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{})
		want(t, err, postgresql.IsConflict, "a conflict")
		if err := s.DeleteDatabase(t.Context(), d.Name, postgresql.DeleteDatabaseOptions{Force: true}); err != nil {
			t.Error(err)
		}
		if err := other.Ping(t.Context()); err == nil {
			t.Error("the session lives on")
		}
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t, s, postgresql.Database{})
		superuser(t, d.Name)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // The server itself waits for five seconds.
		defer cancel()
		began := time.Now()
		err := s.DeleteDatabase(ctx, d.Name, postgresql.DeleteDatabaseOptions{})
		want(t, err, postgresql.IsUnavailable, "unavailable")
		if postgresql.IsOutcomeUnknown(err) || time.Since(began) > 4*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := s.GetDatabase(t.Context(), d.Name); err != nil {
			t.Error(err)
		}
	})
}

func TestDatabaseTemplateInUse(t *testing.T) {
	t.Parallel()
	s := connect(t)
	template := newDatabase(t, s, postgresql.Database{}).Name
	if _, err := s.CreateSchema(t.Context(), postgresql.Schema{Database: template, Name: "copied"}); err != nil {
		t.Fatal(err)
	}
	copied := newDatabase(t, s, postgresql.Database{Template: &template})
	if _, err := s.GetSchema(t.Context(), copied.Name, "copied"); err != nil {
		t.Error(err)
	}
}

func TestConcurrentCreate(t *testing.T) {
	t.Parallel()
	s := connect(t)
	database, role, database2 := unique(t), unique(t), newDatabase(t, s, postgresql.Database{}).Name
	t.Cleanup(func() {
		_ = s.DeleteDatabase(context.Background(), database, postgresql.DeleteDatabaseOptions{})
		_ = s.DeleteRole(context.Background(), role)
	})
	creations := map[string]func() error{
		"database": func() error {
			_, err := s.CreateDatabase(t.Context(), postgresql.Database{Name: database})
			return err
		},
		"role": func() error {
			_, err := s.CreateRole(t.Context(), postgresql.Role{Name: role})
			return err
		},
		"schema": func() error {
			_, err := s.CreateSchema(t.Context(), postgresql.Schema{Database: database2, Name: role})
			return err
		},
		"extension": func() error {
			_, err := s.CreateExtension(t.Context(), postgresql.Extension{Database: database2, Name: "hstore"})
			return err
		},
	}
	for name, create := range creations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = create() })
			}
			all.Wait()
			created := 0
			for _, err := range errs {
				if err == nil {
					created++
					continue
				}
				want(t, err, postgresql.IsExists, "exists")
			}
			if created != 1 {
				t.Errorf("%d creations succeeded", created)
			}
		})
	}
}
