// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// goal is that of the collector, in percent. It is the process's, so tests of it run alone.
func goal() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestGoalOfTheCollector(t *testing.T) {
	const before = 70
	for name, tc := range map[string]struct {
		variable string
		want     uint64
	}{
		"our goal":           {"", restPercent},
		"a goal of the user": {"70", before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", tc.variable)
			defer debug.SetGCPercent(debug.SetGCPercent(before))
			limitHeap(t.Context())
			if got := goal(); got != tc.want {
				t.Errorf("the goal is %d instead of %d", got, tc.want)
			}
		})
	}
}

func TestBusyProcessCollectsLessOften(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(restPercent))
	const busy = 100 * time.Millisecond
	adaptHeap(t.Context(), busy)
	for _, step := range []struct {
		then string
		do   func()
		want uint64
	}{
		{"after collections within the interval", runtime.GC, busyPercent},
		{"a while after them", func() {}, restPercent},
		{"busy again", runtime.GC, busyPercent},
	} {
		for deadline := time.Now().Add(time.Minute); goal() != step.want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the goal is %d, want %d", step.then, goal(), step.want)
			}
			step.do()
		}
	}
}

func TestUnchanged(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/bowline
Rss:                 900 kB
Anonymous:             0 kB
LazyFree:              0 kB
00500000-00600000 r--p 00100000 08:01 12 /usr/bin/bowline
Anonymous:             4 kB
00600000-00700000 r--p 00100000 08:01 12 /usr/bin/bowline
Anonymous:             0 kB
00700000-00800000 rw-p 00200000 08:01 12 /usr/bin/bowline
Anonymous:             0 kB
00800000-00900000 r-xp 00000000 08:01 13 /usr/lib/libc.so
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	// Not: pages that were changed, as relocation does; a mapping that may change; those of others.
	want := []mapping{{0x400000, 0x500000}, {0x600000, 0x700000}}
	if diff := cmp.Diff(want, unchanged([]byte(smaps), "/usr/bin/bowline"), cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
