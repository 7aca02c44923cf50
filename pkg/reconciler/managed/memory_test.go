// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Which calls of Reconcile have nothing new to tell, after a pass that read version 10 and wrote version 12.
func TestKnown(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	cases := map[string]struct {
		reason    string
		overtaken bool
		woken     bool // while the pass went on
		wokenNow  bool // after it
		seen      []string
		after     time.Duration
		want      bool
	}{
		"our own write":             {reason: "The watch brings it back once.", seen: []string{"12"}, want: true},
		"our own write, again":      {reason: "Something else asks.", seen: []string{"12", "12"}},
		"a cache that is behind":    {reason: "The watch will bring our write.", seen: []string{"11"}, want: true},
		"behind for long":           {reason: "The store was put back to an older state.", seen: []string{"11"}, after: time.Minute},
		"a user's write":            {reason: "It is news.", seen: []string{"13"}},
		"a user's write in between": {reason: "Ours came after it, and the pass has not seen it.", overtaken: true, seen: []string{"12"}},
		"woken during the pass":     {reason: "What it failed at may succeed now.", woken: true, seen: []string{"12"}},
		"woken after the pass":      {reason: "What it failed at may succeed now.", wokenNow: true, seen: []string{"12"}},
		"due":                       {reason: "It is time to look again.", seen: []string{"12"}, after: 10 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, mg := newMemory(), newStatusOnly()
			mg.SetResourceVersion("10")
			rec, wakes := m.of(mg)
			p := &pass{object: object{managed: mg}, before: before{wakes: wakes, resourceVersion: "10"}, memory: rec}
			key := client.ObjectKeyFromObject(mg)
			if tc.woken {
				m.wake(key)
			}
			mg.SetResourceVersion("12")
			m.ended(p, start, start.Add(10*time.Second), tc.overtaken, false)
			if tc.wokenNow {
				m.wake(key)
			}
			var got bool
			for _, version := range tc.seen {
				mg.SetResourceVersion(version)
				var rest time.Duration
				if got, rest = m.known(mg, start.Add(tc.after)); got && rest <= 0 {
					t.Error("what is due must come back in time")
				}
			}
			if got != tc.want {
				t.Errorf("nothing new: %t, want %t. %s", got, tc.want, tc.reason)
			}
		})
	}
}
