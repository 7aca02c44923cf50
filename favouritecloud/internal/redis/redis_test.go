// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

func TestFindInstallations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for folder, script := range map[string]string{
		"old":    "echo 'Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.2.1'",
		"a":      "echo 'Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0'",
		"b":      "echo 'Redis server v=7.0.11 sha=00000000:0 malloc=libc'",
		"c":      "echo 'Redis server v=8.2.1 sha=00000000:1 malloc=libc'",
		"broken": "exit 1",
		"other":  "echo 'something else 7.0.1'",
	} {
		path := filepath.Join(root, folder, "redis-server")
		err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)) // executable
		if err != nil {
			t.Fatal(err)
		}
	}
	var search []string
	for _, folder := range []string{"none", "old", "broken", "other", "a", "b", "c"} {
		search = append(search, filepath.Join(root, folder))
	}
	got, err := FindInstallations(t.Context(), append(search, "relative"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Installation{
		{Program: filepath.Join(root, "a/redis-server"), Version: "7.0"}, {Program: filepath.Join(root, "c/redis-server"), Version: "8.2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for version, chosen := range map[string]Installation{"": want[0], "8.2": want[1], "7.4": want[0]} {
		if i, err := Select(got, version); err != nil || i != chosen {
			t.Errorf("selecting %q: %v, %v", version, i, err)
		}
	}
	if _, err := Select(nil, "7.0"); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("selecting from none: %v", err)
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	got, err := parseStatus("# Server\r\nredis_version:7.0.15\r\nprocess_id:42\r\ntcp_port:26400\r\n\r\n# Persistence\r\nloading:1\r\n")
	if want := (status{pid: 42, port: 26400, version: "7.0", loading: true}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseStatus("# Server\r\nredis_version:7.0.15\r\n"); err == nil {
		t.Error("an answer without a process is believed")
	}
}

// newInstance returns an instance in a folder with a name that is long and hard to write.
func newInstance(t *testing.T) *Instance {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(parent, strings.Repeat("long ", 20)+`"'\é`)
	if err := errors.Join(os.Chmod(filepath.Dir(parent), 0o711), os.Chmod(parent, 0o711)); err != nil {
		t.Fatal(err)
	}
	owner, err := host.FindAccount()
	if err != nil {
		t.Fatal(err)
	}
	i := NewInstance(folder, owner, "secret")
	t.Cleanup(func() {
		if err := i.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestServer(t *testing.T) {
	t.Parallel()
	installed, err := FindInstallations(t.Context(), DefaultSearchPath())
	if err != nil || len(installed) == 0 {
		t.Fatalf("Redis is not installed: apt-get install redis-server (%v)", err)
	}
	i := newInstance(t)
	if running, err := i.Running(t.Context()); running != nil || err != nil {
		t.Errorf("in an empty folder runs %v, %v", running, err)
	}
	taken, err := net.Listen("tcp", net.JoinHostPort(host.Loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() // The test is over.
	settings := Settings{Port: taken.Addr().(*net.TCPAddr).Port, MemoryMegabytes: 8, EvictionPolicy: "noeviction", Password: "password"}
	s, err := i.Start(t.Context(), installed[0], settings)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "Failed listening on port") {
		t.Errorf("a server whose port is taken: %v", err)
	}
	s.Close()

	if settings.Port, err = host.CachePorts().Free(func(int) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if s, err = i.Start(t.Context(), installed[0], settings); err != nil {
		t.Fatal(err)
	}
	if version, port, err := s.WaitReady(t.Context()); version != installed[0].Version || port != settings.Port || err != nil {
		t.Errorf("version %s, port %d, %v", version, port, err)
	}
	adopted, err := i.Running(t.Context())
	if err != nil || adopted == nil || adopted.Pid() != s.Pid() {
		t.Fatalf("the server is not found: %v, %v", adopted, err)
	}
	adopted.Close()
	if _, err := NewInstance(i.Path, i.Owner, "guessed").Running(t.Context()); err == nil || !isRefusal(err) {
		t.Errorf("without the secret: %v", err)
	}
	bad := settings
	bad.EvictionPolicy = "none"
	if err := s.Apply(t.Context(), bad); err == nil || strings.Contains(err.Error(), settings.Password) {
		t.Errorf("applying nonsense: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if running, err := i.Running(t.Context()); running != nil || err != nil {
		t.Errorf("after stopping runs %v, %v", running, err)
	}
}
