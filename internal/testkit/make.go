// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Make makes a target in the checkout, and returns its root. Other test binaries wait: two links would overwrite each other's file.
func Make(target string) (root string, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	root = strings.TrimSpace(string(out))
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		return "", fmt.Errorf("making the folder of the build: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(root, "bin", ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("opening the lock of the build: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("waiting for another build: %w", err)
	}
	for _, folder := range []string{"apis", "cmd", "controlplane", "favouritecloud", "internal", "pkg", "providers", "test/kubernetes/servers"} {
		// go test repeats a test when a folder that it read has changed; the program is no part of it otherwise.
		if err := filepath.WalkDir(filepath.Join(root, folder), func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return "", fmt.Errorf("reading the sources: %w", err)
		}
	}
	cmd := exec.Command("make", "--no-print-directory", target)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make %s: %w\n%s", target, err, out)
	}
	return root, nil
}

// GoCaches keep what Go compiled and fetched where it is, whatever the home.
func GoCaches(t testing.TB) (variables []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		variables = append(variables, name+"="+strings.TrimSpace(string(value)))
	}
	return variables
}
