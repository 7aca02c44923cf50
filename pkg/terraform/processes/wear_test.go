// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"
	"time"
)

// Another process replaces one whose memory has grown by more than 15 %, not before it has served ten times as long as its start took, and one
// that changes something only once it takes twice as much.
func TestWear(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		memory   []int64 // at each look, in MiB; 0: not known
		passes   int     // before the last look
		changing int
		serves   time.Duration // from now on
		wants    bool
	}{
		"at first":                            {memory: []int64{100}},
		"by 15 %":                             {memory: []int64{100, 115}},
		"by more":                             {memory: []int64{100, 116}, wants: true},
		"by more, and back":                   {memory: []int64{100, 116, 100}, wants: true},
		"against the first look":              {memory: []int64{100, 110, 114, 116}, wants: true},
		"first look without an answer":        {memory: []int64{0, 100, 114}},
		"soon after its start":                {memory: []int64{100, 900}, serves: time.Minute},
		"with a change, to twice the memory":  {memory: []int64{100, 200}, changing: 1},
		"with a change, to more than that":    {memory: []int64{100, 201}, changing: 1, wants: true},
		"unknown, few passes":                 {memory: []int64{0}, passes: 999},
		"unknown, many passes":                {memory: []int64{0}, passes: 1000, wants: true},
		"unknown, many passes, with a change": {memory: []int64{0}, passes: 1000, changing: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &life{wear: Wear{}.withDefaults(), worn: make(chan struct{}), passes: tc.passes, changing: tc.changing, serves: time.Now().Add(tc.serves)}
			for _, memory := range tc.memory {
				l.look(memory << 20)
			}
			closed := false
			select {
			case <-l.worn:
				closed = true
			default:
			}
			if l.hasGrown() != tc.wants || closed != tc.wants {
				t.Errorf("it is replaced: %v, reported: %v, want %v", l.hasGrown(), closed, tc.wants)
			}
		})
	}
}
