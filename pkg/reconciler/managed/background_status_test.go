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
		"R30 R197 what was set": {after: tree{"a": "1", "b": tree{"c": "2"}}, want: tree{"a": "1", "b": tree{"c": "2"}}},
		"R30 R197 what others set stays": {before: tree{"b": tree{"c": "1", "d": "1"}}, after: tree{"b": tree{"c": "2", "d": "1"}},
			in: tree{"a": "theirs", "b": tree{"c": "1", "d": "theirs"}}, want: tree{"a": "theirs", "b": tree{"c": "2", "d": "theirs"}}},
		"R30 R197 what was removed": {before: tree{"a": "1", "b": "1"}, after: tree{"b": "1"},
			in: tree{"a": "1", "b": "1"}, want: tree{"b": "1"}},
		"R30 R197 a list, as a whole": {before: tree{"a": []any{"1"}}, after: tree{"a": []any{"2"}},
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
