// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"net"
	"os"
	"path/filepath"
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

func TestIsServer(t *testing.T) {
	t.Parallel()
	c := NewCluster("/c", host.Account{})
	started := time.Unix(1700000000, 0)
	cases := map[string]struct {
		reason string
		info   host.Info
		want   bool
	}{
		"itself":        {"the server that wrote the file", host.Info{Command: "postgres", Args: []string{"postgres", "-D", "/c/data"}, Started: started.Add(-time.Second)}, true},
		"other program": {"pids are reused", host.Info{Command: "bash", Args: []string{"bash", "/c/data"}, Started: started}, false},
		"other folder":  {"pids are reused by servers of the same account too", host.Info{Command: "postgres", Args: []string{"postgres", "-D", "/d/data"}, Started: started}, false},
		"other start":   {"a later process with the same arguments", host.Info{Command: "postgres", Args: []string{"postgres", "-D", "/c/data"}, Started: started.Add(time.Hour)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.isServer(tc.info, pidFile{pid: 1, started: started}); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestSettingsAreReadBackFromArguments(t *testing.T) {
	t.Parallel()
	want := Settings{Port: 20001, MaxConnections: 77}
	if diff := cmp.Diff(want, settingsFrom(want.args())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(Settings{}, settingsFrom([]string{"postgres", "-D", "/x", "-c", "port=abc"})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFindInstallations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for folder, script := range map[string]string{
		"9.6/bin":    "echo 'postgres (PostgreSQL) 9.6.1'", // Too old.
		"12/bin":     "echo 'postgres (PostgreSQL) 12.1'",
		"15/bin":     "echo 'postgres (PostgreSQL) 15.1'",
		"17/bin":     "echo 'postgres (PostgreSQL) 17beta1'",
		"other":      "echo 'something else 15'",
		"broken/bin": "exit 1",
		"path":       "echo 'postgres (PostgreSQL) 15.9'",
	} {
		program(t, filepath.Join(root, folder, "postgres"), script)
		program(t, filepath.Join(root, folder, "initdb"), "exit 0")
	}
	program(t, filepath.Join(root, "18/bin/postgres"), "echo 'postgres (PostgreSQL) 18.0'") // Without initdb.

	got, err := FindInstallations(t.Context(), []string{filepath.Join(root, "path"), filepath.Join(root, "none"), filepath.Join(root, "other"), filepath.Join(root, "*/bin")})
	if err != nil {
		t.Fatal(err)
	}
	want := []Installation{
		{BinDir: filepath.Join(root, "path"), Major: "15"},
		{BinDir: filepath.Join(root, "17/bin"), Major: "17"},
		{BinDir: filepath.Join(root, "12/bin"), Major: "12"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if i, err := Select(got, "17"); err != nil || i != want[1] {
		t.Errorf("selecting 17: %v, %v", i, err)
	}
	if i, err := Select(got, ""); err != nil || i != want[0] {
		t.Errorf("selecting any: %v, %v", i, err)
	}
	_, err = Select(got, "16")
	if missing, ok := errors.AsType[*host.NotInstalledError](err); !ok || missing.Package != "postgresql-16" {
		t.Errorf("selecting 16: %v", err)
	}
}

func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil { // executable
		t.Fatal(err)
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
