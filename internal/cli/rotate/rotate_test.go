// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// A request is later than what happened, so that the credentials are replaced, also if the clock of this machine is behind by minutes.
func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	rotated := func(o *unstructured.Unstructured, at time.Time) {
		o.Object["status"] = map[string]any{"credentials": map[string]any{"lastRotationTime": at.Format(time.RFC3339)}}
	}
	created := func(o *unstructured.Unstructured, at time.Time) { meta.SetExternalCreateSucceeded(o, at) }
	requested := func(o *unstructured.Unstructured, at time.Time) { meta.SetRotateCredentialsAt(o, at) }
	for name, tc := range map[string]struct {
		what       func(o *unstructured.Unstructured, at time.Time)
		after, add time.Duration
	}{
		"rotated before (N50)":           {rotated, -time.Hour, 0},
		"rotated at the same time (N50)": {rotated, 0, time.Second},
		"rotated later (N50)":            {rotated, 5 * time.Minute, 5*time.Minute + time.Second},
		"created later (N50)":            {created, 5 * time.Minute, 5*time.Minute + time.Second},
		"requested a little later (N50)": {requested, skew, skew + time.Second},
		"planned (N50)":                  {requested, 5 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &unstructured.Unstructured{Object: map[string]any{}}
			tc.what(o, now.Add(tc.after))
			if got := next(now, nil, o); !got.Equal(now.Add(tc.add)) {
				t.Errorf("%v, want %v", got, now.Add(tc.add))
			}
		})
	}
}
