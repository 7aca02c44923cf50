// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/inspect/inspecttest"
	"github.com/bowline-dev/bowline/internal/cli/why"
)

func TestMain(m *testing.M) { os.Exit(inspecttest.Main(m)) }

// TestExplanations compares explanations of what is in an API server with those in testdata. Objects are created now; what
// happened to them since is in the year 2099.
func TestExplanations(t *testing.T) {
	t.Parallel()
	now := time.Date(2099, 1, 2, 4, 0, 0, 0, time.UTC)
	made, clock := regexp.MustCompile(`\d+\w* ago \([^)]*\), (The object was created|Its deletion)`), regexp.MustCompile(`ago \(\d[^)]*\)`)
	inspecttest.Files(t, func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string {
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
		return clock.ReplaceAllString(made.ReplaceAllString(out.String(), "now, $1"), "ago (TIME)")
	})
}
