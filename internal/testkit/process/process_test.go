// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a shell script.
func start(t *testing.T, script string, failed func(error)) (*Process, error) {
	t.Helper()
	return Start(t.Context(), Config{Args: []string{"/bin/sh", "-c", script}, Ready: "I am ready", Dir: t.TempDir(), Failed: failed})
}

func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("stops on request", func(t *testing.T) {
		t.Parallel()
		p, err := start(t, `echo before; echo "now I am ready"; exec sleep 60`, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Stop(), p.Stop()); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("it still runs: %v", err)
		}
	})
	t.Run("reports an exit that was not asked for", func(t *testing.T) {
		t.Parallel()
		failed := make(chan error, 1)
		p, err := start(t, `echo "I am ready"; echo "no disk" >&2; exit 3`, func(err error) { failed <- err })
		if err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no disk") {
			t.Error(err)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("is killed", func(t *testing.T) {
		t.Parallel()
		p, err := start(t, `trap "" TERM; echo "I am ready"; while :; do sleep 1; done`, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Kill(), p.Kill(), p.Stop()); err != nil {
			t.Error(err)
		}
		<-p.Exited()
	})
	t.Run("is not ready in time", func(t *testing.T) {
		t.Parallel()
		_, err := Start(t.Context(), Config{
			Args: []string{"/bin/sh", "-c", "exec sleep 60"}, Ready: "I am ready", Dir: t.TempDir(), Limit: 50 * time.Millisecond,
		})
		if err == nil || !strings.Contains(err.Error(), "not ready after 50ms") {
			t.Error(err)
		}
	})
	t.Run("ends before it is ready", func(t *testing.T) {
		t.Parallel()
		_, err := start(t, `echo "port is taken" >&2; exit 1`, func(err error) { t.Error(err) })
		if err == nil || !strings.Contains(err.Error(), "port is taken") {
			t.Error(err)
		}
	})
}

func ExampleStart() {
	p, err := Start(context.Background(), Config{
		Args: []string{"/bin/sh", "-c", "echo ready; exec sleep 60"}, Ready: "ready", Dir: os.TempDir(), Failed: func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Stop())
	// Output: <nil>
}
