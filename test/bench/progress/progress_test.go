// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/test/bench/progress"
)

func event(kind, name, ready string, size int) string {
	return fmt.Sprintf(`{"type": %q, "object": {"metadata": {"name": %q, "resourceVersion": "7"}, "status": {"atProvider": {"size": %d},
		"conditions": [{"type": "Synced", "status": "True", "reason": "ReconcileSuccess"},
		{"type": "Ready", "status": %q, "reason": "Because", "message": "of this"}]}}}`, kind, name, size, ready)
}

func TestWork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		done    func(progress.Event) bool
		events  []string
		missing string // empty if all are done
	}{
		"both are ready": {
			done:   progress.ReadyAt(1),
			events: []string{event("ADDED", "a", "False", 1), event("MODIFIED", "b", "True", 1), event("MODIFIED", "a", "True", 1)},
		},
		"one counts once": {
			done:    progress.ReadyAt(1),
			events:  []string{event("MODIFIED", "a", "True", 1), event("MODIFIED", "a", "True", 1)},
			missing: "1 of 2 objects are done; b is not: nothing seen of it since",
		},
		"another size is not done": {
			done:    progress.ReadyAt(2),
			events:  []string{event("MODIFIED", "a", "True", 2), event("MODIFIED", "b", "True", 1)},
			missing: "1 of 2 objects are done; b is not: Synced True ReconcileSuccess, Ready True Because (of this)",
		},
		"unexpected objects": {
			done: progress.ReadyAt(1),
			events: []string{event("MODIFIED", "c", "True", 1), event("MODIFIED", "d", "True", 1),
				`{"object": {"metadata": {"name": "a"}}, "type": "ADDED"}`},
			missing: "0 of 2 objects are done; a is not: it has no conditions; b is not: nothing seen of it since",
		},
		"deleted": {
			done:   progress.Deleted,
			events: []string{event("MODIFIED", "a", "True", 1), event("DELETED", "a", "True", 1), event("DELETED", "b", "True", 1)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := progress.NewTracker()
			work := tracker.Expect(2, tc.done)
			work.Begin("a")
			work.Begin("b")
			if err := tracker.Follow(strings.NewReader(strings.Join(tc.events, "\n"))); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			over := errors.New("time is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			if tc.missing != "" {
				cancel(over)
			}
			defer cancel(nil)
			took, end, err := work.Wait(ctx)
			if tc.missing == "" && (err != nil || len(took) != 2 || end.IsZero()) {
				t.Errorf("took %v until %v, %v", took, end, err)
			}
			if tc.missing != "" && (!errors.Is(err, over) || !strings.HasPrefix(err.Error(), tc.missing+": ")) {
				t.Errorf("got  %v\nwant %s", err, tc.missing)
			}
		})
	}
}

func TestFollowTellsWhyTheWatchEnded(t *testing.T) {
	t.Parallel()
	tracker := progress.NewTracker()
	events := event("ADDED", "a", "True", 1) + `{"type": "ERROR", "object": {"message": "too old resource version"}}`
	err := tracker.Follow(strings.NewReader(events))
	if err == nil || !strings.Contains(err.Error(), "too old resource version") {
		t.Error(err)
	}
	if version := tracker.Version(); version != "" {
		t.Errorf("the watch would go on at %q, which is too old", version)
	}
}

func ExampleTracker() {
	tracker := progress.NewTracker()
	work := tracker.Expect(1, progress.Deleted)
	work.Begin("a")
	_ = tracker.Follow(strings.NewReader(`{"type": "DELETED", "object": {"metadata": {"name": "a"}}}`))
	took, _, err := work.Wait(context.Background())
	fmt.Println(len(took), err)
	// Output: 1 <nil>
}
