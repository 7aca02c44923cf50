// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, stop := launch(t, Config{DataDir: dir})
	c := newClient(t, first.RESTConfig())
	define(t, c, gadgets("KeptGadget"))
	must(t, c.Create(t.Context(), gadget("KeptGadget", "default", "kept", 7)))
	before := keyFiles(t, dir)
	stop()

	if _, ok := Holder(dir); ok {
		t.Error("a stopped server must not hold its data folder")
	}
	if l, err := net.Listen("tcp", first.Address()); err != nil {
		t.Errorf("a stopped server must not hold its port: %v", err)
	} else {
		l.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stopped server must remove its socket: %v", err)
	}

	second := startServer(t, Config{DataDir: dir})
	got := gadget("KeptGadget", "default", "kept", 0)
	must(t, newClient(t, second.RESTConfig()).Get(t.Context(), client.ObjectKeyFromObject(got), got))
	for path, text := range keyFiles(t, dir) {
		if before[path] != text {
			t.Errorf("%s changed in a restart", path)
		}
	}
}

// keyFiles returns the keys and certificates of a data folder and checks who can read them.
func keyFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, path := range []string{dir, filepath.Join(dir, "pki")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder %s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(KubeconfigPath(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has mode %v, %v", info.Mode(), err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "pki", "*"))
	must(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		must(t, err)
		if filepath.Base(path) != "ca.crt" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		must(t, err)
		found[path] = string(text)
	}
	if len(found) < 5 {
		t.Errorf("only %d files in %s/pki", len(found), dir)
	}
	return found
}

func TestStartRefused(t *testing.T) {
	dir := t.TempDir()
	running := startServer(t, Config{DataDir: dir})
	if pid, ok := Holder(dir); !ok || pid != os.Getpid() {
		t.Errorf("Holder returned %d, %v", pid, ok)
	}
	broken := t.TempDir()
	must(t, os.Chmod(broken, 0o700))
	must(t, os.WriteFile(filepath.Join(broken, "etcd"), nil, 0o600)) // where a folder should be

	busy := t.TempDir()
	must(t, os.Chmod(busy, 0o755))
	must(t, os.WriteFile(filepath.Join(busy, "letter.txt"), nil, 0o600))

	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"other folder":       {Config{DataDir: busy, Listen: "127.0.0.1:0"}, "holds other files"},
		"data folder in use": {Config{DataDir: dir, Listen: "127.0.0.1:0"}, fmt.Sprintf("in use by process %d", os.Getpid())},
		"port taken":         {Config{DataDir: t.TempDir(), Listen: running.Address()}, running.Address() + " is taken"},
		"broken store":       {Config{DataDir: broken, Listen: "127.0.0.1:0"}, "starting store"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := New(tc.cfg)
			must(t, err)
			err = s.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("want an error with %q, got %v", tc.want, err)
			}
			if locked := (*LockedError)(nil); tc.cfg.DataDir == dir && (!errors.As(err, &locked) || locked.PID != os.Getpid()) {
				t.Errorf("want a LockedError that names this process, got %v", err)
			}
			if _, held := Holder(tc.cfg.DataDir); held != (tc.cfg.DataDir == dir) {
				t.Errorf("after a failed start the data folder is held: %v", held)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	_, err := New(Config{Listen: "nowhere", Names: []string{"bad name"}})
	for _, want := range []string{"DataDir: required", `"nowhere" is not host:port`, `"bad name" is neither`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want every problem at once, among them %q; got %v", want, err)
		}
	}
	for _, cfg := range []Config{{DataDir: "d"}, {DataDir: "d", Listen: ":0"}, {DataDir: "d", Names: []string{"a.example", "*.b.example", "10.0.0.1"}}} {
		if _, err := New(cfg); err != nil {
			t.Errorf("New(%+v): %v", cfg, err)
		}
	}
}

// TestStoreFailure checks that a control plane does not linger without its store.
func TestStoreFailure(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Config{DataDir: dir, Listen: "127.0.0.1:0", NoSync: true})
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	select {
	case <-s.Ready():
	case err := <-done:
		t.Fatalf("the server did not start: %v", err)
	}
	began := time.Now()
	s.store.Etcd.Server.HardStop()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "running store") {
			t.Errorf("want the store's failure, got %v", err)
		}
		t.Logf("returned after %v", time.Since(began))
	case <-time.After(30 * time.Second):
		t.Fatalf("Run did not return\n%s", stacks())
	}
	if _, ok := Holder(dir); ok {
		t.Error("a failed server must not hold its data folder")
	}
}

func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	s := startServer(t, Config{DataDir: dir})
	must(t, newClient(t, s.RESTConfig()).Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{}))
	if _, err := os.Stat(filepath.Join(dir, "etcd.sock")); err != nil {
		t.Errorf("the socket must be in the data folder: %v", err)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	_, stop := launch(t, Config{}) // Kubernetes starts some goroutines once per process
	stop()
	before := settled()

	s, stop := launch(t, Config{})
	c := newClient(t, s.RESTConfig())
	define(t, c, gadgets("LeakGadget"))
	must(t, c.Create(t.Context(), gadget("LeakGadget", "default", "g", 1)))
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leak"}}))
	began := time.Now()
	stop()
	t.Logf("stopped in %v", time.Since(began))

	if after := settled(); after > before {
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks())
	}
}

// settled returns the number of goroutines once it has not changed for four seconds: a watch cache holds a goroutine for
// three after a read, and a quota check that was in flight ends after ten.
func settled() int {
	const pause, quiet, limit = 100 * time.Millisecond, 40, 300
	last, same := -1, 0
	for range limit {
		if n := runtime.NumGoroutine(); n == last {
			same++
		} else {
			last, same = n, 0
		}
		if same == quiet {
			break
		}
		<-time.After(pause)
	}
	return last
}

func stacks() string {
	buf := make([]byte, 16<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// Run stops in order at any moment of its start; Kubernetes would end the process.
func TestStopDuringStart(t *testing.T) {
	for _, life := range []time.Duration{10, 100, 200, 300, 400, 500, 600, 700, 800} {
		s, err := New(Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", NoSync: true})
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), life*time.Millisecond)
		if err := s.Run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped after %d ms: %v", life, err)
		}
		cancel()
		if pid, held := Holder(s.cfg.DataDir); held {
			t.Errorf("stopped after %d ms: process %d still holds the folder", life, pid)
		}
	}
}
