// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/trace"
	"github.com/bowline-dev/bowline/internal/cli/why"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

const (
	begin     = "---\n"                    // ends the first line of a file, its purpose
	separator = "\n=== "                   // begins a query, a line, and the expected output
	asTeam    = "as the team "             // prefix of a query by a user of the namespace
	rewrite   = "BOWLINE_REWRITE_TESTDATA" // environment variable: write the outputs to the files; review them before you commit
)

// hidden is the value in Secrets of testdata, which no output may contain.
const hidden = "hidden-value-of-the-secret"

// compareFiles creates the objects of each file *.txt of a folder on a stage of its own, and compares the output of each query in the
// file. A query is [as the team ]WORDS[ -o FORMAT]; show gets the object of the words, and FORMAT.
func compareFiles(t *testing.T, folder string, show func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(string(content), separator)
			s := newStage(t)
			_, documents, _ := strings.Cut(parts[0], begin)
			s.Put(t, documents)
			for i, part := range parts[1:] {
				query, want, _ := strings.Cut(part, "\n")
				got := s.Neutral(s.query(t, query, show))
				if strings.Contains(got, hidden) {
					t.Error("the output contains a value of a Secret")
				}
				if diff := cmp.Diff(strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n")); diff != "" {
					t.Errorf("%s: -want +got:\n%s", query, diff)
				}
				parts[1+i] = query + "\n" + got
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

func (s *stage) query(t *testing.T, query string, show func(*testing.T, *inspect.Cluster, inspect.Reading, string) string) string {
	t.Helper()
	words, restricted := strings.CutPrefix(query, asTeam)
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
	return show(t, cluster, found, format)
}

// TestTraces compares traces of what is in an API server with those in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	compareFiles(t, "../trace/testdata", func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string {
		root, err := trace.Build(t.Context(), c, found)
		if err != nil {
			return err.Error() + "\n"
		}
		write := trace.WriteTree
		switch format {
		case "json":
			write = func(w io.Writer, n *trace.Node) error { return command.WriteJSON(w, n) }
		case "dot":
			write = trace.WriteDOT
		}
		var out bytes.Buffer
		if err := write(&out, root); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}

// TestExplanations compares explanations of what is in an API server with those in testdata. Objects are created now; what
// happened to them since is in the year 2099.
func TestExplanations(t *testing.T) {
	t.Parallel()
	now := time.Date(2099, 1, 2, 4, 0, 0, 0, time.UTC)
	made, clock := regexp.MustCompile(`\d+\w* ago \([^)]*\), (The object was created|Its deletion)`), regexp.MustCompile(`ago \(\d[^)]*\)`)
	compareFiles(t, "../why/testdata", func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string {
		e := why.Explain(t.Context(), c, found)
		var out bytes.Buffer
		err := why.WriteText(&out, e, now)
		if format == "json" {
			out.Reset()
			err = command.WriteJSON(&out, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		return withoutAdvice(clock.ReplaceAllString(made.ReplaceAllString(out.String(), "now, $1"), "ago (TIME)"))
	})
}

// withoutAdvice replaces the texts of the catalogues of reasons, whose wording may change, by their reasons.
func withoutAdvice(text string) string {
	texts := map[string]string{}
	note := func(reason, meaning, action string) {
		texts[meaning], texts[action] = "MEANING OF "+reason, "ACTION FOR "+reason
	}
	for _, e := range slices.Concat(managed.Reasons(), target.Reasons(), claim.Reasons(), applicationresource.Reasons()) {
		note(string(e.Reason), e.Meaning, e.Action)
	}
	for _, e := range failure.Explanations() {
		note(string(e.Reason), e.Meaning, e.Action)
	}
	longestFirst := func(a, b string) int { return len(b) - len(a) }
	for _, known := range slices.SortedFunc(maps.Keys(texts), longestFirst) {
		if known != "" {
			text = strings.ReplaceAll(text, known, texts[known])
		}
	}
	return text
}
