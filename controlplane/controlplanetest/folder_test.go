// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest/internal/process"
)

// ended returns a process that has ended.
func ended(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	p, err := process.Identify(cmd.Process.Pid)
	must(t, err)
	if alive, err := process.Alive(p); err != nil || !alive {
		t.Errorf("a running process must be alive: %v", err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait() // it was killed
	if alive, err := process.Alive(p); err != nil || alive {
		t.Errorf("an ended process must not be alive: %v", err)
	}
	return p
}

func TestRemoveStale(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self, err := process.Identify(os.Getpid())
	must(t, err)
	stale, err := openFolder(ended(t))
	must(t, err)
	used, err := openFolder(self)
	must(t, err)
	must(t, removeStale())
	if _, err := os.Stat(string(stale)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a run that has ended must be removed: %v", err)
	}
	if _, err := os.Stat(string(used)); err != nil {
		t.Errorf("the folder of an active run must stay: %v", err)
	}
	must(t, os.Chmod(string(used), 0o777))
	if _, err := openFolder(self); err == nil {
		t.Error("a folder that others can write to must be refused")
	}
}

func TestAwaitReadyReportsTheLog(t *testing.T) {
	f := folder(t.TempDir())
	must(t, os.WriteFile(f.log(), []byte("no room on device"), 0o600))
	died := make(chan error, 1)
	died <- errors.New("exit status 1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, ended := range []chan error{died, nil} {
		if err := awaitReady(ctx, f, ended); err == nil || !strings.Contains(err.Error(), "no room on device") {
			t.Errorf("a server that ended, or hangs: want its log in the error, got %v", err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
