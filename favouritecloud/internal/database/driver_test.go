// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
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

func TestPing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer string
		want   bool
	}{
		"asks for the password": {"R\x00\x00\x00\x08\x00\x00\x00\x0a", true},
		"is full":               {"E\x00\x00\x00\x0cC53300\x00\x00", true},
		"is starting":           {"E\x00\x00\x00\x0cC57P03\x00\x00", false},
		"is something else":     {"HTTP/1.1 400 Bad Request\r\n\r\n", false},
		"hangs up":              {"", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- answerOnce(listener, tc.answer) }()
			if got := acceptsConnections(t.Context(), listener.Addr().(*net.TCPAddr).Port); got != tc.want {
				t.Errorf("got %t", got)
			}
			if err := errors.Join(<-served, listener.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func answerOnce(listener net.Listener, answer string) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1024)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(answer))
	return errors.Join(err, conn.Close())
}
