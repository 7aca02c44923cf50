// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/why"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

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
	for _, e := range slices.Concat(managed.Reasons(), target.Reasons(), claimbinding.Reasons()) {
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
