// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The help of the command that lists leaks, and the page of reasons, name the steps of the cleanup in their order.
func TestLeakProcedure(t *testing.T) {
	t.Parallel()
	var help, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"bowline", "leaks", "--help"}, Streams{In: strings.NewReader(""), Out: &help, Err: &stderr}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	page, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `CannotInitializeManagedResource` \\|.*$").FindString(string(page))
	const pending = `crossplane\.io/external-create-pending`
	for place, tc := range map[string]struct{ text, steps string }{
		"in the help (T63)":            {help.String(), `(?s)in the external system.*delete it there.*` + pending + `-`},
		"on the page of reasons (T63)": {row, "`bowline leaks`.*in the external system.*[Dd]elete.*" + pending},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			if !regexp.MustCompile(tc.steps).MatchString(tc.text) {
				t.Errorf("the steps are missing or in another order: %s\nin:\n%s", tc.steps, tc.text)
			}
		})
	}
}
