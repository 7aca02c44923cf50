// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"testing"

	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

func TestFancinessLevelIsLimited(t *testing.T) {
	t.Parallel()
	for level, valid := range map[int]bool{9: false, 10: true, 1000: true, 1001: false, 0: false, -10: false} {
		if err := validateUpdate(api.UpdateInstanceInput{FancinessLevel: &level}); (err == nil) != valid {
			t.Errorf("%d: %v", level, err)
		}
	}
}
