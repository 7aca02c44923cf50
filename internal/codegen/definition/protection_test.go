// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import "testing"

// No two APIs of a domain have a policy of one name: each group belongs to one of them.
func TestPolicyNames(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		groups []string
		want   string
	}{
		"claims of several groups (N39)":        {"", []string{"database.example.org", "ml.example.org", "db.example.org"}, "db.example.org"},
		"claims of the same domain (N39)":       {"", []string{"cache.example.org"}, "cache.example.org"},
		"own configurations (N39)":              {"cloud.example.org", []string{"s.cloud.example.org", "cloud.example.org"}, "cloud.example.org"},
		"configurations of another API (N39)":   {"cloud.example.org", []string{"more.cloud.example.org"}, "more.cloud.example.org"},
		"in any order of the definitions (N39)": {"", []string{"b.example.org", "a.example.org"}, "a.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&protection{config: tc.config, groups: tc.groups}).suffix(); got != tc.want {
				t.Errorf("the policy is named after %s, want %s", got, tc.want)
			}
		})
	}
}
