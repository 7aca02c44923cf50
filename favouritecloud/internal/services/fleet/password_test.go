// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
)

func TestPasswordsAreLongAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		p := NewPassword()
		if len(p) != 32 || seen[p] || strings.ContainsFunc(p, func(r rune) bool { return r > 'z' || r < '0' }) {
			t.Errorf("password of %d characters, seen before: %t", len(p), seen[p])
		}
		seen[p] = true
	}
}
