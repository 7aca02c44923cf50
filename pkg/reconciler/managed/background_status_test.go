// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after, in, want tree }{
		"what was set (R30, R197)": {after: tree{"a": "1", "b": tree{"c": "2"}}, want: tree{"a": "1", "b": tree{"c": "2"}}},
		"what others set stays (R30, R197)": {before: tree{"b": tree{"c": "1", "d": "1"}}, after: tree{"b": tree{"c": "2", "d": "1"}},
			in: tree{"a": "theirs", "b": tree{"c": "1", "d": "theirs"}}, want: tree{"a": "theirs", "b": tree{"c": "2", "d": "theirs"}}},
		"what was removed (R30, R197)": {before: tree{"a": "1", "b": "1"}, after: tree{"b": "1"},
			in: tree{"a": "1", "b": "1"}, want: tree{"b": "1"}},
		"a list, as a whole (R30, R197)": {before: tree{"a": []any{"1"}}, after: tree{"a": []any{"2"}},
			in: tree{"a": []any{"1", "3"}}, want: tree{"a": []any{"2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, redo(tc.before, tc.after, tc.in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
