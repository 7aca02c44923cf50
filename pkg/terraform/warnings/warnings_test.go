// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package warnings

import "testing"

// What was reported is known of some objects only: of those whose last warning is the latest.
func TestWarned(t *testing.T) {
	t.Parallel()
	w := newWarned[string, int](2)
	for i, step := range []struct {
		object     string
		generation int
		text       string
		want       bool
	}{
		{"a", 1, "old", true},
		{"a", 1, "old", false},
		{"a", 1, "new", true},
		{"a", 2, "old", true},
		{"b", 1, "old", true},
		{"a", 2, "old", false},
		{"c", 1, "old", true}, // and b is forgotten
		{"a", 2, "old", false},
		{"b", 1, "old", true},
	} {
		if got := w.news(step.object, step.generation, step.text); got != step.want {
			t.Errorf("step %d: %t, want %t", i, got, step.want)
		}
		if n := w.last.Len(); n > 2 {
			t.Errorf("step %d: it knows of %d objects", i, n)
		}
	}
}
