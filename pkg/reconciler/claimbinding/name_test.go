// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestNameFor(t *testing.T) {
	t.Parallel()
	t.Run("the same for the same claim, another for another claim or attempt (N11, R268)", func(t *testing.T) {
		first, again := nameFor("team-orders-", "a", 0), nameFor("team-orders-", "a", 0)
		if first != again {
			t.Errorf("%q, then %q", first, again)
		}
		names := map[string]bool{}
		for _, uid := range []string{"a", "b", "c"} {
			for attempt := range attempts {
				names[nameFor("team-orders-", types.UID(uid), attempt)] = true
			}
		}
		if len(names) != 3*attempts {
			t.Errorf("%d names", len(names))
		}
	})
	t.Run("as long as the API server makes them (P2, R262)", func(t *testing.T) {
		if got := nameFor(strings.Repeat("x", 80), "a", 0); len(got) != 63 {
			t.Errorf("%q has %d characters", got, len(got))
		}
	})
}
