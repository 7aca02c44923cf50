// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

func TestIsReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		conditions []xpv1.Condition
		want       string
	}{
		"ready":             {[]xpv1.Condition{xpv1.Available(), xpv1.ReconcileSuccess().WithObservedGeneration(2)}, ""},
		"of another state":  {[]xpv1.Condition{xpv1.Available(), xpv1.ReconcileSuccess().WithObservedGeneration(1)}, ": generation 2; Ready: Available ; Synced for generation 1: ReconcileSuccess "},
		"creating":          {[]xpv1.Condition{xpv1.Creating(), xpv1.ReconcileSuccess().WithObservedGeneration(2)}, ": generation 2; Ready: Creating ; Synced for generation 2: ReconcileSuccess "},
		"needs human (R85)": {[]xpv1.Condition{xpv1.Stalled(failure.CreateInterrupted, "")}, errNeedsHuman.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &v1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			n.SetConditions(tc.conditions...)
			got := ""
			if err := isReady(n); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is printed last is read by programs.
func TestSummary(t *testing.T) {
	t.Parallel()
	h := &harness{out: &bytes.Buffer{}, found: map[inspect.Class]int{}}
	if _, good := h.summary(); good {
		t.Error("nothing tried is nothing proven")
	}
	h.report(job{}, scenario.Trial{Process: &fault.Process{}}, false, nil)
	line, good := h.summary()
	if want := "crash points: 1 tried, leaked=0 duplicated=0 credentials-lost=0 stuck=0 needs-human=0 bound-twice=0"; line != want || !good {
		t.Errorf("%q, %t, want %q", line, good, want)
	}
	h.report(job{}, scenario.Trial{Process: &fault.Process{}}, false, []inspect.Violation{{Class: inspect.CredentialsLost}, {Class: inspect.Stuck}})
	line, good = h.summary()
	if want := "crash points: 2 tried, leaked=0 duplicated=0 credentials-lost=1 stuck=1 needs-human=0 bound-twice=0"; line != want || good {
		t.Errorf("%q, %t, want %q", line, good, want)
	}
}
