// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"runtime/debug"
	"testing"
)

// The goal is the process's, so this test runs alone.
func TestSaveMemory(t *testing.T) {
	const before = 70
	for name, tc := range map[string]struct {
		variable string
		want     int
	}{
		"our goal":           {"", gcPercent},
		"a goal of the user": {"70", before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", tc.variable)
			original := debug.SetGCPercent(before)
			SaveMemory()
			if got := debug.SetGCPercent(original); got != tc.want {
				t.Errorf("the goal is %d instead of %d", got, tc.want)
			}
		})
	}
}
