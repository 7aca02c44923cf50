// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func TestExternalCreateIncomplete(t *testing.T) {
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	cases := map[string]struct {
		pending, succeeded, failed string
		incomplete, unacknowledged bool
	}{
		"R83 never begun":                        {},
		"R83 pending alone":                      {pending: early, incomplete: true, unacknowledged: true},
		"R82 pending newer than succeeded":       {pending: late, succeeded: early, incomplete: true, unacknowledged: true},
		"R82 pending newer than failed":          {pending: late, failed: early, incomplete: true, unacknowledged: true},
		"R82 pending newer than both":            {pending: late, succeeded: early, failed: early, incomplete: true, unacknowledged: true},
		"R83 pending equal to succeeded":         {pending: late, succeeded: late},
		"R83 pending equal to failed":            {pending: late, failed: late, unacknowledged: true},
		"R82 pending older than succeeded":       {pending: early, succeeded: late},
		"R82 failed again after a success":       {pending: late, succeeded: early, failed: late, unacknowledged: true},
		"an annotation that a person emptied":    {pending: "", succeeded: early},
		"an annotation that is no time at all":   {pending: "soon", succeeded: early},
		"succeeded alone, as after R86's advice": {succeeded: late},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{
				meta.AnnotationKeyExternalCreatePending:   tc.pending,
				meta.AnnotationKeyExternalCreateSucceeded: tc.succeeded,
				meta.AnnotationKeyExternalCreateFailed:    tc.failed,
			}}
			if got := meta.ExternalCreateIncomplete(o); got != tc.incomplete {
				t.Errorf("incomplete: %t, want %t", got, tc.incomplete)
			}
			if got := meta.ExternalCreateUnacknowledged(o); got != tc.unacknowledged {
				t.Errorf("unacknowledged: %t, want %t", got, tc.unacknowledged)
			}
		})
	}
}

// Whatever the clock does, a creation that begins is newer than every result before it, and its own result is not
// older than it (N25).
func TestStampsKeepOrder(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 500, time.UTC)
	for name, step := range map[string]time.Duration{
		"within one second": 0, "clock set back": -time.Hour, "clock going on": time.Hour,
	} {
		t.Run("N25 "+name, func(t *testing.T) {
			o, now := &metav1.ObjectMeta{UID: "uid"}, start
			for i := range 3 {
				meta.SetExternalCreatePending(o, now)
				if !meta.ExternalCreateIncomplete(o) {
					t.Fatalf("creation %d begins and is not seen as incomplete: %v", i, o.Annotations)
				}
				now = now.Add(step)
				if i%2 == 0 {
					meta.SetExternalCreateFailed(o, now)
				} else {
					meta.SetExternalCreateSucceeded(o, now)
				}
				if meta.ExternalCreateIncomplete(o) {
					t.Fatalf("creation %d has a result and is still seen as incomplete: %v", i, o.Annotations)
				}
				now = now.Add(step)
			}
		})
	}
	o := &metav1.ObjectMeta{}
	meta.SetExternalCreatePending(o, time.Date(2023, 12, 18, 22, 48, 6, 999, time.FixedZone("CET", 3600)))
	if got := o.Annotations[meta.AnnotationKeyExternalCreatePending]; got != "2023-12-18T21:48:06Z" {
		t.Errorf("R76 the stamp is %q", got)
	}
}

func TestCreationToken(t *testing.T) {
	o, now := &metav1.ObjectMeta{UID: "uid"}, time.Unix(1000, 0)
	first := meta.CreationToken(o)
	meta.SetExternalCreatePending(o, now)
	meta.SetExternalCreateFailed(o, now)
	meta.SetExternalCreatePending(o, now.Add(time.Minute))
	if again := meta.CreationToken(o); again != first || first != "uid" {
		t.Errorf("N22 until a creation succeeded the token stays: %q, then %q", first, again)
	}
	meta.SetExternalCreateSucceeded(o, now.Add(time.Minute))
	second := meta.CreationToken(o)
	meta.SetExternalCreatePending(o, now.Add(time.Hour))
	if again := meta.CreationToken(o); second == first || again != second {
		t.Errorf("N22 creating anew has a token of its own: %q, %q, %q", first, second, again)
	}
}

func TestExternalCreateSucceededDuring(t *testing.T) {
	now := time.Unix(1000, 0)
	o := &metav1.ObjectMeta{}
	if meta.ExternalCreateSucceededDuring(o, time.Hour, now) {
		t.Error("nothing succeeded")
	}
	meta.SetExternalCreateSucceeded(o, now.Add(-time.Minute))
	if !meta.ExternalCreateSucceededDuring(o, time.Hour, now) || meta.ExternalCreateSucceededDuring(o, time.Minute, now) {
		t.Error("R88 a minute ago is within the last hour and not within the last minute")
	}
}
