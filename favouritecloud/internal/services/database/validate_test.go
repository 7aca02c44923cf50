// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import "testing"

func TestValidateFanciness(t *testing.T) {
	t.Parallel()
	for level, valid := range map[int]bool{9: false, 10: true, 1000: true, 1001: false, 0: false, -10: false} {
		if err := validateFanciness(level); (err == nil) != valid {
			t.Errorf("%d: %v", level, err)
		}
	}
}
