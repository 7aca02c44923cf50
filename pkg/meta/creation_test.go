// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func TestExternalCreateIncomplete(t *testing.T) {
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	cases := map[string]struct {
		pending, succeeded, failed string
		incomplete, unacknowledged bool
	}{
		"never begun (R83)":                        {},
		"pending alone (R83)":                      {pending: early, incomplete: true, unacknowledged: true},
		"pending newer than succeeded (R82)":       {pending: late, succeeded: early, incomplete: true, unacknowledged: true},
		"pending newer than failed (R82)":          {pending: late, failed: early, incomplete: true, unacknowledged: true},
		"pending newer than both (R82)":            {pending: late, succeeded: early, failed: early, incomplete: true, unacknowledged: true},
		"pending equal to succeeded (R83)":         {pending: late, succeeded: late},
		"pending equal to failed (R83)":            {pending: late, failed: late, unacknowledged: true},
		"pending older than succeeded (R82)":       {pending: early, succeeded: late},
		"failed again after a success (R82)":       {pending: late, succeeded: early, failed: late, unacknowledged: true},
		"an annotation that a person emptied":      {pending: "", succeeded: early},
		"an annotation that is no time at all":     {pending: "soon", succeeded: early},
		"pending removed by a person (R86)":        {succeeded: late},
		"pending removed, nothing succeeded (R86)": {failed: late},
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
		t.Run(name+" (N25)", func(t *testing.T) {
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
}

// Each annotation has its key and holds a time to the second, in UTC, wherever the clock stands.
func TestCreationAnnotations(t *testing.T) {
	now := time.Date(2023, 12, 18, 22, 48, 6, 999, time.FixedZone("CET", 3600))
	for name, tc := range map[string]struct {
		key string
		set func(metav1.Object, time.Time)
		get func(metav1.Object) time.Time
	}{
		"pending (A21, R75, R76)":   {"crossplane.io/external-create-pending", meta.SetExternalCreatePending, meta.GetExternalCreatePending},
		"succeeded (A21, R75, R76)": {"crossplane.io/external-create-succeeded", meta.SetExternalCreateSucceeded, meta.GetExternalCreateSucceeded},
		"failed (A21, R75, R76)":    {"crossplane.io/external-create-failed", meta.SetExternalCreateFailed, meta.GetExternalCreateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{}
			if got := tc.get(o); !got.IsZero() {
				t.Errorf("before it is set it is %s", got)
			}
			tc.set(o, now)
			if diff := cmp.Diff(map[string]string{tc.key: "2023-12-18T21:48:06Z"}, o.Annotations); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := tc.get(o); !got.Equal(now.Truncate(time.Second)) {
				t.Errorf("reads %s, want %s", got, now)
			}
		})
	}
}

func TestCreationToken(t *testing.T) {
	o, now := &metav1.ObjectMeta{UID: "uid"}, time.Unix(1000, 0)
	first := meta.CreationToken(o)
	t.Run("until a creation succeeded the token stays (N22)", func(t *testing.T) {
		meta.SetExternalCreatePending(o, now)
		meta.SetExternalCreateFailed(o, now)
		meta.SetExternalCreatePending(o, now.Add(time.Minute))
		if again := meta.CreationToken(o); again != first || first != "uid" {
			t.Errorf("%q, then %q", first, again)
		}
	})
	t.Run("creating anew has a token of its own (N22)", func(t *testing.T) {
		meta.SetExternalCreateSucceeded(o, now.Add(time.Minute))
		second := meta.CreationToken(o)
		meta.SetExternalCreatePending(o, now.Add(time.Hour))
		if again := meta.CreationToken(o); second == first || again != second {
			t.Errorf("%q, %q, %q", first, second, again)
		}
	})
}
