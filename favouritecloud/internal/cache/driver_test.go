// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
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
