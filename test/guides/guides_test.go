// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/plane"
)

// patience bounds one guide. It takes some twenty seconds with processors to spare, and there are several at the same time.
const patience = 5 * time.Minute

// cloud is the default address of the local cloud, which examples name.
const cloud = "http://127.0.0.1:7070"

// metrics is the default address of metrics, which guides name.
const metrics = "127.0.0.1:8081"

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

// Every guide works as written.
func TestGuides(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil || len(guides) == 0 {
		t.Fatalf("looking for guides: %v, found %d", err, len(guides))
	}
	for _, guide := range guides {
		t.Run(filepath.Base(guide), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(guide)
			if err != nil {
				t.Fatal(err)
			}
			own := testkit.FreeAddress(t)
			blocks, err := parse(strings.ReplaceAll(string(text), metrics, own))
			if err != nil {
				t.Fatal(err)
			}
			p := plane.New(t, "--metrics-listen", own)
			p.Up(t)
			output := run(t, script(blocks), checkout(t, root, p.Cloud), append(goCaches(t), "BOWLINE_DATA_DIR="+p.Dir, "HOME="+t.TempDir())...)
			for _, b := range blocks {
				shown, ran := printed(output, b)
				if line, found := missing(shown, b.shows); ran && found {
					t.Errorf("line %d: no %q in what it prints:\n%s", b.line, line, shown)
				}
			}
		})
	}
}

// checkout returns a folder that is like this checkout, with examples that use the cloud of the given URL.
func checkout(t *testing.T, root, url string) string {
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

// goCaches keep what Go compiled and fetched where it is, whatever the home.
func goCaches(t *testing.T) (variables []string) {
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

// run returns what the script prints. If it fails, the output ends with why.
func run(t *testing.T, script, dir string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.WaitDelay = time.Second // of what the script started and left
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the guide's commands ended with %v:\n%s", err, out)
	}
	return string(out)
}
