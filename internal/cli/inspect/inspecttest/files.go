// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspecttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

const (
	begin     = "---\n"                    // ends the first line of a file, which says why
	separator = "\n=== "                   // begins what is asked, a line, and the answer
	asTeam    = "as the team "             // before what is asked: by a user of the namespace
	rewrite   = "BOWLINE_REWRITE_TESTDATA" // set, it writes the answers anew, to be read before they are kept
)

// Hidden is the value that Secrets of testdata have, and that no answer may show.
const Hidden = "hidden-value-of-the-secret"

// Files puts the objects of each file testdata/*.txt on a stage of its own, asks what the file asks, and compares the answers
// with those in the file. An asked line is [as the team ]WORDS[ -o FORMAT]; answer gets what the words mean, and FORMAT.
func Files(t *testing.T, answer func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string) {
	t.Helper()
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
			s := New(t)
			_, documents, _ := strings.Cut(parts[0], begin)
			s.Put(t, documents)
			for i, part := range parts[1:] {
				asked, want, _ := strings.Cut(part, "\n")
				got := s.Neutral(s.ask(t, asked, answer))
				if strings.Contains(got, Hidden) {
					t.Error("the answer shows a value of a Secret")
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

func (s *Stage) ask(t *testing.T, asked string, answer func(*testing.T, *inspect.Cluster, inspect.Reading, string) string) string {
	t.Helper()
	words, restricted := strings.CutPrefix(asked, asTeam)
	words, format, _ := strings.Cut(words, " -o ")
	cluster := s.Cluster(t)
	if restricted {
		cluster = s.As(t,
			rbacv1.PolicyRule{APIGroups: []string{"database.crossplane.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	}
	found, err := cluster.Find(t.Context(), inspect.Query{Words: strings.Fields(s.Fill(words)), Namespace: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	return answer(t, cluster, found, format)
}
