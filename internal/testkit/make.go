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

// Make makes a target in the checkout, and returns its root.
func Make(target string) (root string, err error) {
	sources := []string{"apis", "cmd", "controlplane", "favouritecloud", "internal", "pkg", "providers", "test/kubernetes/servers"}
	return Build("bin", sources, func(root string) error { return Run(root, "make", "--no-print-directory", target) })
}

// Build builds programs in a folder of the checkout, and returns its root. Other test binaries wait: two links would overwrite each
// other's file. It reads the folders of the sources: go test repeats a test when a folder that it read has changed; the programs are no
// part of it otherwise.
func Build(folder string, sources []string, build func(root string) error) (root string, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	root = strings.TrimSpace(string(out))
	if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
		return "", fmt.Errorf("making the folder of the build: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(root, folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("opening the lock of the build: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("waiting for another build: %w", err)
	}
	for _, source := range sources {
		if err := filepath.WalkDir(filepath.Join(root, source), func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return "", fmt.Errorf("reading the sources: %w", err)
		}
	}
	return root, build(root)
}

// Run runs a command in a folder. Its error has what it printed.
func Run(folder string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return nil
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
