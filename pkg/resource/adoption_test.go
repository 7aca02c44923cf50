// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"
	"testing"
)

func TestAdoptableNames_N48(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pattern, name string
		want          bool
	}{
		"equal":                     {"orders", "orders", true},
		"longer":                    {"orders", "orders-2", false},
		"any":                       {"*", "", true},
		"beginning":                 {"team-*", "team-", true},
		"another beginning":         {"team-*", "my-team-1", false},
		"end":                       {"*-db", "orders-db", true},
		"another end":               {"*-db", "orders-dbs", false},
		"beginning and end overlap": {"ab*ba", "aba", false},
		"several":                   {"a*b*c", "a-b-b-c-c", true},
		"in another order":          {"a*b*c", "acb", false},
		"many that nearly match":    {strings.Repeat("*a", 100) + "*b", strings.Repeat("a", 10_000), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := matches(tc.pattern, tc.name); got != tc.want {
				t.Errorf("matches(%.20q, %.20q) is %t", tc.pattern, tc.name, got)
			}
		})
	}
}
