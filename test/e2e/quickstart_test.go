// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/plane"
)

// The quickstart tells its story to both of its users, tells it again with an application in a cluster, and cleans up after itself; what
// the README says to type next works too.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	dir := filepath.Join(t.TempDir(), "quickstart")
	env := append(append(os.Environ(), testkit.GoCaches(t)...), "QUICKSTART_DIR="+dir, "BOWLINE_DATA_DIR="+dir, "HOME="+t.TempDir(),
		"QUICKSTART_LISTEN=127.0.0.1:0", "QUICKSTART_CLOUD_LISTEN=127.0.0.1:0") // ports of its own, whatever else runs
	shell := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir, cmd.Env = root, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\nended with %v:\n%s", script, err, out)
		}
		return string(out)
	}
	if err := plane.Build(); err != nil {
		t.Fatal(err)
	}
	stamps := shell("bin/bowline version && bin/bowline kubectl version --client")
	found := regexp.MustCompile(`^bowline (\S+) \(Kubernetes (v\S+),[^)]*\)\nClient Version: (v\S+)\n`).FindStringSubmatch(stamps)
	if git := strings.TrimSpace(shell("git describe --tags --always --dirty 2>/dev/null || echo devel")); found == nil || found[1] != git || found[2] != found[3] {
		t.Errorf("want the version %s, and that of Kubernetes for both programs, got:\n%s", git, stamps)
	}
	defer shell("examples/quickstart/quickstart.sh clean")
	repeat := func(script string, more map[string]string) {
		t.Helper()
		out := shell(script)
		for what, words := range union(more, map[string]string{
			"the claim's way":               "Ready=True (Available)",
			"an answer of PostgreSQL":       "PostgreSQL 1",
			"what the team is refused":      `cannot list resource "secrets" in API group "" in the namespace "quickstart"`,
			"the platform's view of things": "favouritedbinstance.database.fcp.crossplane.io/shop-orders-",
			"the chain":                     "secret shop/orders: in step",
		}) {
			if !strings.Contains(out, words) {
				t.Errorf("the quickstart does not show %s, %q:\n%s", what, words, out)
			}
		}
	}
	repeat("examples/quickstart/quickstart.sh", nil)
	shell(commands(t, filepath.Join(root, "README.md"), "bin/bowline status")) // the last deletes the claim
	repeat("examples/workload/workload.sh", map[string]string{
		"the objects in the cluster": "shelf.store.example.org/top", "what a program there gets": "Ahoy! select 1 returns 1.",
	})
	if out := shell("examples/quickstart/quickstart.sh clean"); !strings.Contains(out, `"orders" deleted`) {
		t.Errorf("cleaning does not delete the claim before it stops everything:\n%s", out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("cleaning left %s: %v", dir, err)
	}
}

func union(of ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, one := range of {
		maps.Copy(all, one)
	}
	return all
}

// commands returns the shell commands of the document's code block that begins with the given one.
func commands(t *testing.T, document, first string) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```sh\n"+first)
	block, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("%s has no code block that begins with %q", document, first)
	}
	return first + block
}

// The server accepts every object in examples; those in monitoring are files of Prometheus.
func examples(t *testing.T, s *stage) {
	for _, namespace := range []string{"quickstart", "shop"} {
		if out, err := s.Run(t.Context(), "kubectl", "create", "namespace", namespace); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*"))
	args := []string{"kubectl", "apply", "--dry-run=server", "--validate=strict", "-R"}
	for _, file := range files {
		if filepath.Base(file) != "monitoring" {
			args = append(args, "-f", file)
		}
	}
	if err != nil || len(args) < 10 {
		t.Fatalf("found %q: %v", files, err)
	}
	if out, err := s.Run(t.Context(), args...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
