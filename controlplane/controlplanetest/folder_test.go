// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest/internal/process"
)

// ended returns a process that has ended.
func ended(t *testing.T) process.Process {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := process.LookUp(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Alive() {
		t.Error("a running process must be alive")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.AwaitEnd(t.Context())
	cmd.Wait() // it was killed
	if p.Alive() {
		t.Error("an ended process must not be alive")
	}
	return p
}

func TestRemoveStale(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self, err := process.LookUp(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	stale, err := openFolder(ended(t))
	if err != nil {
		t.Fatal(err)
	}
	used, err := openFolder(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeStale(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(stale)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a run that has ended must go: %v", err)
	}
	if _, err := os.Stat(string(used)); err != nil {
		t.Errorf("the folder of an active run must stay: %v", err)
	}
}

func TestOpenFolderRefusesForeign(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := process.Process{PID: 1, Start: 2}
	path := filepath.Join(os.TempDir(), folderPrefix()+p.String())
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(p); err == nil {
		t.Error("a folder that others can write to must be refused")
	}
}

func TestAwaitReadyTellsWhy(t *testing.T) {
	f := folder(t.TempDir())
	if err := os.WriteFile(f.log(), []byte("no room on device"), 0o600); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	died <- errors.New("exit status 1")
	if err := awaitReady(t.Context(), f, died); err == nil || !strings.Contains(err.Error(), "no room on device") {
		t.Errorf("a server that ended: want its log in the error, got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := awaitReady(ctx, f, nil); err == nil || !strings.Contains(err.Error(), "no room on device") {
		t.Errorf("a server that hangs: want its log in the error, got %v", err)
	}
}
