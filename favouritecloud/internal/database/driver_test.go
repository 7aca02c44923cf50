// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
)

func TestParsePidFile(t *testing.T) {
	t.Parallel()
	const full = "4242\n/data\n1700000000\n20001\n\n127.0.0.1\n  1234  5\n"
	cases := map[string]struct {
		content string
		want    pidFile
		fails   bool
	}{
		"ready":      {content: full + "ready   \n", want: pidFile{pid: 4242, started: time.Unix(1700000000, 0), ready: true}},
		"starting":   {content: full + "starting\n", want: pidFile{pid: 4242, started: time.Unix(1700000000, 0)}},
		"no state":   {content: full, want: pidFile{pid: 4242, started: time.Unix(1700000000, 0)}},
		"empty":      {fails: true},
		"pid only":   {content: "4242\n", fails: true},
		"pid is bad": {content: "-1\n/data\n1700000000\n", fails: true},
		"not a pid":  {content: "x\n/data\n1700000000\n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parsePidFile(tc.content)
			if errors.Is(err, errUnfinished) != tc.fails || got != tc.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// Pids are reused, also by servers of the same account.
func TestIsServer(t *testing.T) {
	t.Parallel()
	written := time.Unix(1700000000, 0)
	info := func(command, data string, started time.Time) host.Info {
		return host.Info{Command: command, Args: []string{command, "-D", data}, Started: started}
	}
	got := map[string]bool{}
	for name, i := range map[string]host.Info{
		"itself":        info("postgres", "/c/data", written.Add(-time.Second)),
		"other program": info("bash", "/c/data", written),
		"other folder":  info("postgres", "/d/data", written),
		"other start":   info("postgres", "/c/data", written.Add(time.Hour)),
	} {
		got[name] = isServer("/c/data", i, pidFile{pid: 1, started: written})
	}
	want := map[string]bool{"itself": true, "other program": false, "other folder": false, "other start": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for path, script := range map[string]string{
		"9.6/bin/postgres":    "echo 'postgres (PostgreSQL) 9.6.1'", // Too old.
		"12/bin/postgres":     "echo 'postgres (PostgreSQL) 12.1'",
		"15/bin/postgres":     "echo 'postgres (PostgreSQL) 15.1'",
		"17/bin/postgres":     "echo 'postgres (PostgreSQL) 17beta1'",
		"18/bin/postgres":     "echo 'postgres (PostgreSQL) 18.0'", // Without initdb.
		"other/postgres":      "echo 'something else 15'",
		"broken/bin/postgres": "exit 1",
		"path/postgres":       "echo 'postgres (PostgreSQL) 15.9'",
	} {
		write := func(path, script string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755) } // executable
		folder := filepath.Join(root, filepath.Dir(path))
		err := errors.Join(os.MkdirAll(folder, 0o755), write(filepath.Join(root, path), script))
		if path != "18/bin/postgres" {
			err = errors.Join(err, write(filepath.Join(folder, "initdb"), "exit 0"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	search := []string{root + "/path", root + "/none", root + "/other", root + "/*/bin"}
	got, err := software(search).Find(t.Context())
	want := []host.Program{
		{Path: filepath.Join(root, "path/postgres"), Version: "15"},
		{Path: filepath.Join(root, "17/bin/postgres"), Version: "17"},
		{Path: filepath.Join(root, "12/bin/postgres"), Version: "12"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("error %v, -want +got:\n%s", err, diff)
	}
	for version, chosen := range map[string]host.Program{"": want[0], "17": want[1], "16": {}} {
		p, err := choose(got, version)
		missing := err != nil && strings.Contains(err.Error(), "apt-get install postgresql-16)")
		if p != chosen || missing != (version == "16") || err != nil && !missing {
			t.Errorf("choosing %q: %v, %v", version, p, err)
		}
	}
}

// newDriver returns a driver of a running server that allows five connections.
func newDriver(t *testing.T) (d *driver, s *host.Server, r record) {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	owner, ownerErr := host.FindAccount()
	if err := errors.Join(err, ownerErr, os.Chmod(filepath.Dir(parent), 0o711), os.Chmod(parent, 0o711)); err != nil {
		t.Fatal(err)
	}
	folder := New(service.Environment{}, nil, 1).Servers.Folder
	folder.Path, folder.Owner = filepath.Join(parent, "server"), owner
	t.Cleanup(func() {
		if err := folder.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.Password, r.Spec.FancinessLevel = "password", 5
	d = &driver{Site: service.Site[Spec]{
		Folder: &folder, Log: slog.New(slog.DiscardHandler), Update: func(func(*record)) (record, error) { return r, nil },
	}, slots: make(chan struct{}, 1)}
	installed, err := software(DefaultSearchPath()).Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start, err := d.Prepare(t.Context(), r, installed)
	if err != nil {
		t.Fatal(err)
	}
	port, err := host.DatabasePorts.Free(func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if s, err = start(port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := d.AwaitReady(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	return d, s, r
}

func TestFaults(t *testing.T) {
	t.Parallel()
	d, s, r := newDriver(t)
	open := func(name string) (*pgconn.PgConn, error) {
		return connect(t.Context(), host.Loopback, setting(s, "port"), func(c *pgconn.Config) { c.Password, c.Database = r.Password, name })
	}
	session, err := open("template1")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(t.Context())
	run := func(sql string) func() error { return func() error { return session.Exec(t.Context(), sql).Close() } }
	if err := run("create role another superuser; set role another")(); err != nil {
		t.Fatal(err)
	}
	var sessions []*pgconn.PgConn
	super := "update pg_authid set rolsuper = %t where rolname = 'postgres'" // newer versions refuse alter role
	oid, err := session.Exec(t.Context(), "select oid from pg_database where datname = 'postgres'").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(d.Data(), "base", string(oid[0].Rows[0][0]), versionFile)
	for name, tc := range map[string]struct {
		want              string
		happens, repaired func() error
	}{
		"the database has another name": {`database "postgres" does not exist; in another database, run: alter`,
			run("alter database postgres rename to moved"), run("alter database moved rename to postgres")},
		"the database is closed": {"not currently accepting connections; in another database, run: alter",
			run("alter database postgres allow_connections false"), run("alter database postgres allow_connections true")},
		"the role cannot log in":   {"run: alter role postgres login", run("alter role postgres nologin"), run("alter role postgres login")},
		"the role is no superuser": {`run "alter role postgres superuser"`, run(fmt.Sprintf(super, false)), run(fmt.Sprintf(super, true))},
		"the server cannot read its files": {"is not a valid data directory; see the log of the server, and whether its disk is full",
			func() error { return os.Rename(version, version+".moved") }, func() error { return os.Rename(version+".moved", version) }},
		"all connections are in use": {"", func() error {
			for len(sessions) < r.Spec.FancinessLevel {
				c, err := open("template1")
				if isFull(err) {
					return nil
				}
				if err != nil {
					return err
				}
				sessions = append(sessions, c)
			}
			return errors.New("more connections than allowed")
		}, func() (err error) {
			for _, c := range sessions {
				err = errors.Join(err, c.Close(t.Context()))
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.happens(); err != nil {
				t.Fatal(err)
			}
			err := d.AwaitReady(t.Context(), s, r)
			if _, is := errors.AsType[*host.Fault](err); is != (tc.want != "") || is && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err := tc.repaired(); err != nil {
				t.Fatal(err)
			}
			if err := d.AwaitReady(t.Context(), s, r); err != nil {
				t.Errorf("after the repair: %v", err)
			}
		})
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectPassword(t, d, s, r)
	if _, is := errors.AsType[*host.Fault](faultOf(&pgconn.PgError{Code: "57P03"})); is {
		t.Error("a server that starts has a fault")
	}
}

// expectPassword changes the password whatever settings a user stored for the superuser, and once a full server has a free connection.
func expectPassword(t *testing.T, d *driver, s *host.Server, r record) {
	t.Helper()
	r.Spec.PasswordRequests = 1
	admin, err := d.administer(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	if err := admin.Exec(t.Context(), "create role app").Close(); err != nil {
		t.Fatal(err)
	}
	works := func() error {
		err := errors.Join(d.AwaitReady(t.Context(), s, r), d.applyPassword(t.Context(), s, r))
		backup, errBackup := d.keepLog(t.Context(), s)
		if err := errors.Join(err, errBackup); err != nil {
			return err
		}
		defer backup.Close(t.Context())
		time.Sleep(1200 * time.Millisecond)
		return backup.Exec(t.Context(), "select 1").Close()
	}
	for _, stored := range []string{
		"role postgres set role = app", "database postgres set role = app",
		"role postgres set default_transaction_read_only = on", "role postgres set statement_timeout = 1",
		"role postgres set idle_session_timeout = 1000",
		"role postgres in database postgres set client_encoding = 'LATIN1'",
	} {
		r.Password += "é"
		if err := admin.Exec(t.Context(), "alter "+stored).Close(); err != nil {
			t.Fatal(err)
		}
		if err := works(); err != nil {
			t.Errorf("after alter %s: %v", stored, err)
		}
		object, _, _ := strings.Cut(stored, " set ")
		if err := admin.Exec(t.Context(), "alter "+object+" reset all").Close(); err != nil {
			t.Fatal(err)
		}
	}
	for {
		c, err := connect(t.Context(), host.Loopback, setting(s, "port"), func(c *pgconn.Config) { c.Password = r.Password })
		if isFull(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
	}
	freed := make(chan error, 1)
	time.AfterFunc(time.Second, func() { freed <- admin.Close(context.Background()) })
	if err := errors.Join(d.applyPassword(t.Context(), s, r), <-freed); err != nil {
		t.Errorf("on a server that is full for a second: %v", err)
	}
}
