// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestLastCause(t *testing.T) {
	t.Parallel()
	postgres, redis := []string{"FATAL:", "PANIC:", "error:"}, []string{" # "}
	cases := map[string]struct {
		output string
		marks  []string
		want   string
	}{
		"fatal":         {"2026 LOG:  starting\n2026 UTC [1] FATAL:  could not bind\n2026 LOG:  shut down\n", postgres, "could not bind"},
		"initdb":        {"creating ...\ninitdb: error: directory exists\ninitdb: hint: remove it", postgres, "directory exists"},
		"warning":       {"7:M 21 Nov 2026 # Failed listening on port 1 (TCP), aborting.\n7:M 21 Nov 2026 * bye\n", redis, "Failed listening on port 1 (TCP), aborting."},
		"configuration": {"*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n>>> 'x'\nBad directive\n", redis, "Bad directive"},
		"nothing":       {"", redis, ""},
		"other":         {"one\ntwo\n", postgres, "two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := LastCause(tc.output, tc.marks...); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
