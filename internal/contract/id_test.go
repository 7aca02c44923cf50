// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDsIn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name string
		want []ID
	}{
		"a word of a subtest":         {"TestLeak/R82_pending_newer_than_succeeded", []ID{{"R", 82}}},
		"several at the start":        {"TestCreate/R77_R79_N22_create_with_tokens", []ID{{"N", 22}, {"R", 77}, {"R", 79}}},
		"in the middle, repeated":     {"TestPolicy/alone_(K4,_K4)/A1#01", []ID{{"A", 1}, {"K", 4}}},
		"in the name of the function": {"TestR82R83Pending/x", []ID{{"R", 82}, {"R", 83}}},
		"nothing but the id":          {"TestT60", []ID{{"T", 60}}},
		"after an underscore":         {"TestLeak_P10", []ID{{"P", 10}}},
		"two words in the function":   {"TestA7Conditions_D22", []ID{{"A", 7}, {"D", 22}}},
		"speaks of one":               {"TestLeak/as_after_R86's_advice", nil},
		"part of a longer word":       {"TestIPv4/XR82_R82x_R082_R0", nil},
		"lower case goes on":          {"TestR82pending", nil},
		"glued in a subtest":          {"TestLeak/TestR82Pending", nil},
		"other letters":               {"TestUTF8/B1_r82", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, idsIn(tc.name)); diff != "" {
				t.Errorf("ids in %s -want +got:\n%s", tc.name, diff)
			}
		})
	}
}
