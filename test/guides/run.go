// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// patience bounds one guide. It takes some twenty seconds with processors to spare, and there are several at the same time.
const patience = 5 * time.Minute

// cloud is the default address of the local cloud, which examples name.
const cloud = "http://127.0.0.1:7070"

// Run runs the commands of a guide in a folder, with more variables in their environment, and fails unless each does and prints what the
// guide says. What they leave running is stopped.
func Run(t testing.TB, guide, dir string, env ...string) {
	t.Helper()
	blocks, err := parse(guide)
	if err != nil {
		t.Fatal(err)
	}
	output := run(t, script(blocks), dir, append(testkit.GoCaches(t), env...)...)
	for _, b := range blocks {
		shown, ran := printed(output, b)
		if line, found := missing(shown, b.shows); ran && found {
			t.Errorf("line %d: no %q in what it prints:\n%s", b.line, line, shown)
		}
	}
}

// run returns what the script prints. If it fails, the output ends with why.
func run(t testing.TB, script, dir string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = time.Second // of what the script started and left
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if stopped := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); stopped != nil && !errors.Is(stopped, syscall.ESRCH) {
		t.Error(stopped)
	}
	if err != nil {
		t.Errorf("the guide's commands ended with %v:\n%s", err, out)
	}
	return string(out)
}

// Checkout returns a folder that is like this checkout, with examples that use the cloud of the given URL.
func Checkout(t testing.TB, root, url string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if filepath.Base(entry) == "examples" {
			continue
		}
		entry, err = filepath.Abs(entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(entry, filepath.Join(dir, filepath.Base(entry))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "examples", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for examples: %v, found %d", err, len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), cloud, url)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
