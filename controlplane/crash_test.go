// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	t.Cleanup(func() {
		if child.ProcessState == nil { // the test failed before it killed the child
			child.Process.Kill()
			child.Wait()
		}
	})
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	if pid, ok := Holder(dir); !ok || pid != child.Process.Pid {
		t.Errorf("Holder returned %d, %v; the child is %d", pid, ok, child.Process.Pid)
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
func writeUntilKilled(t *testing.T, c client.Client, child *exec.Cmd) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var acknowledged atomic.Int64
	go func() {
		for acknowledged.Load() < 50 && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		child.Process.Signal(syscall.SIGKILL)
		child.Wait()
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
