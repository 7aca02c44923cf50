// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit/process"
)

// The path of the folder is longer than the kernel allows for sockets.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	first := newServer(t, Config{DataDir: dir})
	stop := run(t, first)
	c := newClient(t, first.RESTConfig())
	define(t, c, gadgets("KeptGadget"))
	must(t, c.Create(t.Context(), gadget("KeptGadget", "default", "kept", 7)))
	before := keyFiles(t, dir)
	socket := filepath.Join(dir, "etcd.sock")
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket must be in the data folder: %v", err)
	}
	stop()

	if _, ok := Holder(dir); ok {
		t.Error("a stopped server must not hold its data folder")
	}
	if l, err := net.Listen("tcp", first.Address()); err != nil {
		t.Errorf("a stopped server must not hold its port: %v", err)
	} else {
		l.Close()
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stopped server must remove its socket: %v", err)
	}

	second, err := New(Config{DataDir: dir, NoSync: true})
	must(t, err)
	defer run(t, second)()
	got := gadget("KeptGadget", "default", "kept", 0)
	must(t, newClient(t, second.RESTConfig()).Get(t.Context(), client.ObjectKeyFromObject(got), got))
	if !isUsed(t, second, testGroup, "keptgadgets") {
		t.Error("a kind that had objects before is not used")
	}
	if second.Address() != first.Address() {
		t.Errorf("port 0 chose %s, and a restart without an address %s", first.Address(), second.Address())
	}
	for path, text := range keyFiles(t, dir) {
		if before[path] != text {
			t.Errorf("%s changed in a restart", path)
		}
	}
}

// keyFiles returns the keys and certificates of a data folder and checks their permissions.
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
		if info, err := os.Stat(path); err != nil || filepath.Base(path) != "ca.crt" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		found[path] = string(readFile(t, path))
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

	lost := t.TempDir() // of a version without a mark
	must(t, os.Chmod(lost, 0o700))
	must(t, os.CopyFS(filepath.Join(lost, "pki"), os.DirFS(filepath.Join(dir, "pki"))))

	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"lost store":         {Config{DataDir: lost, Listen: "127.0.0.1:0"}, "the folder is missing, but there is"},
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
	s := newServer(t, Config{})
	done := begin(t.Context(), t, s)
	s.store.Etcd.Server.HardStop()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "running store") {
			t.Errorf("want the store's failure, got %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("Run did not return\n%s", stacks())
	}
	if _, ok := Holder(s.cfg.DataDir); ok {
		t.Error("a failed server must not hold its data folder")
	}
}

func TestStopLeavesNothing(t *testing.T) {
	use := func() {
		s := newServer(t, Config{})
		stop := run(t, s)
		c := newClient(t, s.RESTConfig())
		define(t, c, gadgets("LeakGadget"))
		must(t, c.Create(t.Context(), gadget("LeakGadget", "default", "g", 1)))
		must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leak"}}))
		stop()
	}
	use() // Kubernetes starts some goroutines once per process
	before := settled(0, 4*time.Second)
	use()
	if after := settled(before, 15*time.Second); after > before { // a quota check that was in flight ends after ten
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks())
	}
}

// settled returns the number of goroutines once it is at most enough, or has not changed for some time.
func settled(enough int, quiet time.Duration) int {
	const pause, limit = 100 * time.Millisecond, 300
	last, changed := runtime.NumGoroutine(), time.Now()
	for i := 0; i < limit && time.Since(changed) < quiet && last > enough; i++ {
		<-time.After(pause)
		if n := runtime.NumGoroutine(); n != last {
			last, changed = n, time.Now()
		}
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
		s := newServer(t, Config{})
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

// TestRenewal runs a server for most of a year of its clock.
func TestRenewal(t *testing.T) {
	const age = 300 * 24 * time.Hour
	clock := testingclock.NewFakeClock(time.Now().Add(-age)) // so that what it renews is valid now
	s := newServer(t, Config{})
	s.clock = clock
	t.Cleanup(run(t, s))
	old, kubeconfig := served(t, s), readFile(t, KubeconfigPath(s.cfg.DataDir))
	admin := s.RESTConfig().CertData

	clock.Step(age)
	eventually(t, "another certificate is served", func(context.Context) error {
		if served(t, s).Equal(old) {
			return errors.New("it is the old one")
		}
		return nil
	})
	eventually(t, "the administrator has another certificate", func(context.Context) error {
		if bytes.Equal(s.RESTConfig().CertData, admin) || bytes.Equal(readFile(t, KubeconfigPath(s.cfg.DataDir)), kubeconfig) {
			return errors.New("it is the old one")
		}
		return nil
	})
	namespace(t, newClient(t, s.RESTConfig()), "after-renewal")
}

func served(t *testing.T, s *Server) *x509.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true}) // only reads the certificate
	must(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

// childVariable makes the test binary a server on the data folder it names.
const childVariable = "BOWLINE_TEST_CHILD_DATA"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		if err := serveChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveChild(dir string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	s, err := New(Config{DataDir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	go func() {
		<-s.Ready()
		fmt.Println("ready") // the parent reads one line
	}()
	return s.Run(ctx)
}

// TestKill kills a server that syncs its writes, while writes are under way: what it acknowledged must survive.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	child, err := process.Start(t.Context(), process.Config{
		Args: []string{os.Args[0]}, Env: []string{childVariable + "=" + dir}, Dir: t.TempDir(), Ready: "ready",
	})
	must(t, err)
	t.Cleanup(func() { must(t, child.Kill()) })
	if pid, ok := Holder(dir); !ok || pid != child.PID() {
		t.Errorf("Holder returned %d, %v; the child is %d", pid, ok, child.PID())
	}
	config, err := clientcmd.BuildConfigFromFlags("", KubeconfigPath(dir))
	must(t, err)
	config.QPS = -1
	acknowledged := writeUntilKilled(t, newClient(t, config), child)
	if pid, ok := Holder(dir); ok {
		t.Errorf("after the kill process %d still holds the data folder", pid)
	}

	s := startServer(t, Config{DataDir: dir})
	c := newClient(t, s.RESTConfig())
	for i := range acknowledged {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: fmt.Sprint("kept-", i)}, &corev1.ConfigMap{}); err != nil {
			t.Fatalf("of %d acknowledged writes number %d is lost: %v", acknowledged, i, err)
		}
	}
}

// writeUntilKilled writes, kills the child in between, and returns the number of writes that were acknowledged.
func writeUntilKilled(t *testing.T, c client.Client, child *process.Process) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var acknowledged atomic.Int64
	go func() {
		for acknowledged.Load() < 50 && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		child.Kill()
		cancel() // the client would wait for the server to come back
	}()
	for {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("kept-", acknowledged.Load())}}
		if err := c.Create(ctx, object); err != nil {
			<-ctx.Done()
			break
		}
		acknowledged.Add(1)
	}
	if acknowledged.Load() < 50 {
		t.Fatalf("only %d writes were acknowledged", acknowledged.Load())
	}
	return acknowledged.Load()
}
