// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/inspect/inspecttest"
	"github.com/bowline-dev/bowline/internal/cli/trace"
)

func TestMain(m *testing.M) { os.Exit(inspecttest.Main(m)) }

const (
	separator = "\n=== "                     // begins what is asked and the answer, in files of testdata
	rewrite   = "BOWLINE_REWRITE_TESTDATA"   // set, it writes the answers anew
	asTeam    = "as the team "               // before what is asked: by a user of the namespace
	hidden    = "hidden-value-of-the-secret" // in every Secret of testdata
)

// team may do what a user of a namespace may.
func team() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"database.crossplane.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}
}

// TestTrees puts the objects of each file into an API server and compares the traces with those in the file.
func TestTrees(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(string(content), separator)
			s := inspecttest.New(t)
			_, documents, _ := strings.Cut(parts[0], "---\n") // before is why
			s.Put(t, documents)
			for i, part := range parts[1:] {
				asked, want, _ := strings.Cut(part, "\n")
				got := s.Neutral(ask(t, s, asked))
				if strings.Contains(got, hidden) {
					t.Error("the trace shows a value of a Secret")
				}
				if diff := cmp.Diff(strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n")); diff != "" {
					t.Errorf("%s: -want +got:\n%s", asked, diff)
				}
				parts[1+i] = asked + "\n" + got
			}
			if os.Getenv(rewrite) == "" {
				return
			}
			if err := os.WriteFile(file, []byte(strings.Join(parts, separator)), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// ask traces what a line of testdata asks for: [as the team] WORDS [-o FORMAT].
func ask(t *testing.T, s *inspecttest.Stage, asked string) string {
	t.Helper()
	words, restricted := strings.CutPrefix(asked, asTeam)
	words, format, _ := strings.Cut(words, " -o ")
	cluster := s.Cluster(t)
	if restricted {
		cluster = s.As(t, team()...)
	}
	found, err := cluster.Find(t.Context(), inspect.Query{Words: strings.Fields(s.Fill(words)), Namespace: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	root, err := trace.Build(t.Context(), cluster, found)
	if err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	write := trace.WriteTree
	switch format {
	case "json":
		write = trace.WriteJSON
	case "dot":
		write = trace.WriteDOT
	}
	if err := write(&out, root); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
