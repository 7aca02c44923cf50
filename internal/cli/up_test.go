// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime/debug"
	"testing"
)

// The goal is the process's, so this test runs alone.
func TestCollectLess(t *testing.T) {
	const others = 70
	goal := func() int {
		current := debug.SetGCPercent(others)
		debug.SetGCPercent(current)
		return current
	}
	for name, tc := range map[string]struct {
		variable       string
		starting, then int
	}{
		"ours":           {"", startGarbageGoal, garbageGoal},
		"somebody chose": {"70", others, others},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", tc.variable)
			defer debug.SetGCPercent(debug.SetGCPercent(others))
			started := collectLess()
			if got := goal(); got != tc.starting {
				t.Errorf("while everything starts the goal is %d instead of %d", got, tc.starting)
			}
			started()
			if got := goal(); got != tc.then {
				t.Errorf("once everything is ready the goal is %d instead of %d", got, tc.then)
			}
		})
	}
}
