// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0": "7.0",
		"Redis server v=8.2.1 sha=00000000:1 malloc=libc":            "8.2",
		"something else 7.0.1":                                       "",
	} {
		match := software(nil).Version.FindStringSubmatch(output)
		if got := strings.Join(match[min(1, len(match)):], " "); got != want {
			t.Errorf("%s: version %q, want %q", output, got, want)
		}
	}
	installed := []host.Program{{Path: "/a/redis-server", Version: "7.0"}, {Path: "/b/redis-server", Version: "8.2"}}
	for version, want := range map[string]host.Program{"": installed[0], "8.2": installed[1], "7.4": installed[0]} {
		if p, err := choose(installed, version); err != nil || p != want {
			t.Errorf("choosing %q: %v, %v", version, p, err)
		}
	}
	if _, err := choose(nil, "7.0"); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("choosing from none: %v", err)
	}
}

// newDriver returns a driver in a folder with a name that is long and hard to write.
func newDriver(t *testing.T) *driver {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	owner, ownerErr := host.FindAccount()
	if err := errors.Join(err, ownerErr, os.Chmod(filepath.Dir(parent), 0o711), os.Chmod(parent, 0o711)); err != nil {
		t.Fatal(err)
	}
	folder := New(service.Environment{}, nil).Servers.Folder
	folder.Path, folder.Owner = filepath.Join(parent, strings.Repeat("long ", 20)+`"'\é`), owner
	t.Cleanup(func() {
		if err := folder.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &driver{service.Site[Spec]{Folder: &folder}}
}

func TestDriver(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	r := record{Spec: Spec{MemoryMegabytes: 8, EvictionPolicy: "noeviction", Secret: "secret"}}
	r.Password = "password"
	if running, err := d.Find(t.Context(), r); !errors.Is(err, host.ErrEnded) {
		t.Errorf("in an empty folder runs %v, %v", running, err)
	}
	installed, err := software(DefaultSearchPath()).Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limited := filepath.Join(filepath.Dir(d.Path), "limited") // files of at most 32 KB
	if err := os.WriteFile(limited, fmt.Appendf(nil, "#!/bin/sh\ntrap '' XFSZ\nulimit -S -f 64\nexec %s \"$@\"\n", installed[0].Path), 0o755); err != nil {
		t.Fatal(err)
	}
	installed[0].Path = limited
	start, err := d.Prepare(t.Context(), r, installed)
	if err != nil {
		t.Fatal(err)
	}
	port, err := host.CachePorts.Free(func(int) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(port)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.AwaitReady(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	if seen, err := d.Settle(t.Context(), s, r); seen.Version == "" || seen.Port != port || err != nil {
		t.Errorf("%+v, %v", seen, err)
	}
	guessed, nonsense := r, r
	guessed.Spec.Secret, nonsense.Spec.EvictionPolicy = "guessed", "none"
	if _, err := d.Find(t.Context(), guessed); err == nil || !isRefusal(err) {
		t.Errorf("without the secret: %v", err)
	}
	if _, err := d.Settle(t.Context(), s, nonsense); err == nil || strings.Contains(err.Error(), r.Password) {
		t.Errorf("applying nonsense: %v", err)
	}
	c, err := dial(t.Context(), d.Data(), controlUser, r.Spec.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.do("CONFIG", "SET", "maxclients", "1"); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := d.AwaitReady(waiting, s, r); err != nil {
		t.Errorf("a server without a free connection answers: %v", err)
	}
	if _, err := c.do("CONFIG", "SET", "maxclients", "100"); err != nil {
		t.Error(err)
	}
	expectFaults(t, d, s, r, c)
	c.close()
	adopted, err := d.Find(t.Context(), r)
	if err != nil || adopted == nil || adopted.Pid() != s.Pid() {
		t.Fatalf("the server is not found: %v, %v", adopted, err)
	}
	if err := adopted.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if running, err := d.Find(t.Context(), r); !errors.Is(err, host.ErrEnded) {
		t.Errorf("after stopping runs %v, %v", running, err)
	}
	s.Close()
}

// An earlier version created an empty folder before it started the server. One that was used has lost its data.
func TestUnusedData(t *testing.T) {
	t.Parallel()
	const used = "is missing: the data is gone"
	for name, tc := range map[string]struct{ status, version, file, want string }{
		"killed before the first start":                   {status: sdk.StatusCreating, version: "7.0"},
		"killed before the first start, and failed since": {status: sdk.StatusFailed},
		"started":                         {status: sdk.StatusCreating, file: "server.log", want: used},
		"was ONLINE":                      {status: sdk.StatusFailed, version: "7.0", want: used},
		"has files, but not those needed": {status: sdk.StatusCreating, file: "data/dump.rdb", want: used},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t)
			if err := os.MkdirAll(d.Data(), 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.file != "" {
				if err := os.WriteFile(filepath.Join(d.Path, tc.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := record{Status: tc.status}
			r.Port, r.Version = 1, tc.version
			_, err := d.Prepare(t.Context(), r, []host.Program{{}})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if _, errIndex := os.Stat(filepath.Join(d.Data(), appendIndex)); (errIndex != nil) != (tc.want != "") {
				t.Error(errIndex)
			}
		})
	}
}

// The account of the servers can put links into data that is not complete yet.
func TestNewDataIsWrittenNowhereElse(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]string{"a link to a folder": appendFolder, "a link to a file": appendIndex} {
		t.Run(name, func(t *testing.T) {
			d, outside := newDriver(t), t.TempDir()
			unfinished, file := d.Data()+".new", filepath.Join(outside, "file")
			target := outside
			if link == appendIndex {
				target = file
			}
			err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(unfinished, link)), 0o700), os.WriteFile(file, []byte("kept"), 0o600),
				os.Symlink(target, filepath.Join(unfinished, link)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Prepare(t.Context(), record{Status: sdk.StatusCreating}, []host.Program{{}})
			entries, readErr := os.ReadDir(outside)
			if content, fileErr := os.ReadFile(file); readErr != nil || fileErr != nil || len(entries) != 1 || string(content) != "kept" {
				t.Errorf("wrote %v outside, %q; %v, %v, %v", entries, content, err, readErr, fileErr)
			}
			if info, statErr := os.Stat(outside); statErr != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
				t.Errorf("the folder outside has another owner, %v", statErr)
			}
		})
	}
}

// expectFaults reports a server while it cannot store writes, and while it serves nobody. c is a session of the cloud.
func expectFaults(t *testing.T, d *driver, s *host.Server, r record, c *control) {
	t.Helper()
	run := func(session *control, commands ...string) {
		t.Helper()
		for _, command := range commands {
			if _, err := session.do(strings.Fields(command)...); err != nil {
				t.Fatalf("%.40s: %v", command, err)
			}
		}
	}
	expect := func(cause string) {
		t.Helper()
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := d.AwaitReady(waiting, s, r)
		if fault, is := errors.AsType[*host.Fault](err); is != (cause != "") || is && !strings.Contains(fault.Cause, cause) || !is && err != nil {
			t.Errorf("got %v, want %q", err, cause)
		}
	}
	run(c, "SET large "+strings.Repeat("x", 40<<10))
	expect("refuses all writes")
	run(c, "CONFIG SET appendonly no", "FLUSHALL", "CONFIG SET appendonly yes")
	expect("")
	run(c, "CONFIG SET busy-reply-threshold 50")
	if _, err := c.do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('endless', function() while true do end end)"); err != nil {
		t.Fatal(err)
	}
	client, err := dial(t.Context(), d.Data(), username, r.Password)
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	for call, end := range map[string]string{"EVAL 'while true do end' 0": "SCRIPT KILL", "FCALL endless 0": "FUNCTION KILL"} {
		if _, err := client.conn.Write([]byte(call + "\r\n")); err != nil {
			t.Fatal(err)
		}
		expect(end)
		run(c, end)
		if _, err := client.reply(); err == nil || !isRefusal(err) {
			t.Errorf("%s ended with %v", call, err)
		}
		expect("")
	}
}
