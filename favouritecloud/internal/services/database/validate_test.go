// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"strings"
	"testing"
)

func TestValidateFanciness(t *testing.T) {
	t.Parallel()
	for level, valid := range map[int]bool{9: false, 10: true, 1000: true, 1001: false, 0: false, -10: false} {
		if err := validateFanciness(level); (err == nil) != valid {
			t.Errorf("%d: %v", level, err)
		}
	}
}

func TestPasswordsAreLongAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		p := newPassword()
		if len(p) != 32 || seen[p] || strings.ContainsFunc(p, func(r rune) bool { return r > 'z' || r < '0' }) {
			t.Errorf("password of %d characters, seen before: %t", len(p), seen[p])
		}
		seen[p] = true
	}
}
