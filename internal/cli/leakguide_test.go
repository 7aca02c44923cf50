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

// What a person does about a suspected leak is said where they look: in the help of the command that lists them, and on the
// page of reasons.
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
	var row string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `CannotInitializeManagedResource` |") {
			row = line
		}
	}
	for place, tc := range map[string]struct{ text, steps string }{
		"T63 help":            {help.String(), `(?s)Look in the external system.*made at about that time.*delete it there.*crossplane\.io/external-create-pending-`},
		"T63 page of reasons": {row, "`bowline leaks` says since when.*look for in the external system.*Delete what was left behind.*remove the annotation crossplane.io/external-create-pending"},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			if !regexp.MustCompile(tc.steps).MatchString(tc.text) {
				t.Errorf("the steps are not said in this order: %s\nin:\n%s", tc.steps, tc.text)
			}
		})
	}
}
