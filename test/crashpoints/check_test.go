// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

func TestViolations(t *testing.T) {
	t.Parallel()
	claim := func(uid types.UID, has string) resource.Claim {
		c := &cachev1alpha1.RedisCluster{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: string(uid)}}
		if has != "" {
			c.SetResourceReference(&corev1.ObjectReference{Name: has})
			c.SetBindingPhase(xpv1.BindingPhaseBound)
		}
		return c
	}
	object := func(uid, of types.UID, phase xpv1.BindingPhase) resource.Managed {
		mg := &cachev1alpha3.CacheInstance{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid}}
		if of != "" {
			mg.SetClaimReference(&corev1.ObjectReference{UID: of})
			mg.SetBindingPhase(phase)
		}
		return mg
	}
	const bound, released = xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased
	of := func(owners ...types.UID) (all []inspect.External) {
		for _, owner := range owners {
			all = append(all, inspect.External{Owner: owner})
		}
		return all
	}
	none, a, b := []resource.Managed(nil), object("a", "", ""), object("b", "", "")
	cases := map[string]struct {
		claims   []resource.Claim
		objects  []resource.Managed
		external []inspect.External
		want     []class
	}{
		"one external resource each": {objects: []resource.Managed{a, b}, external: of("a", "b")},
		"of a lost object":           {objects: []resource.Managed{a}, external: of("a", "c", "c"), want: []class{leaked, leaked}},
		"without an owner":           {objects: none, external: of(""), want: []class{leaked}},
		"three for one object":       {objects: []resource.Managed{a}, external: of("a", "a", "a"), want: []class{duplicated, duplicated}},
		"none yet":                   {claims: []resource.Claim{claim("a", "")}, objects: []resource.Managed{a}},
		"one each": {
			claims:  []resource.Claim{claim("a", "x"), claim("b", "y")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "b", bound)},
		},
		"released":            {objects: []resource.Managed{object("x", "a", released)}},
		"of a claim not here": {claims: []resource.Claim{claim("b", "")}, objects: []resource.Managed{object("x", "a", bound)}, want: []class{leaked}},
		"two for one claim": {
			claims:  []resource.Claim{claim("a", "x")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "a", "")}, want: []class{duplicated},
		},
		"one released for a claim that has another": {
			claims:  []resource.Claim{claim("a", "x")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "a", released)}, want: []class{duplicated},
		},
		"two claims have it": {
			claims:  []resource.Claim{claim("a", "x"), claim("b", "x")},
			objects: []resource.Managed{object("x", "a", bound)}, want: []class{boundTwice},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []class
			for _, v := range violations(tc.claims, tc.objects, tc.external) {
				got = append(got, v.class)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

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
	h := &harness{out: &bytes.Buffer{}, found: map[class]int{}}
	if _, good := h.summary(); good {
		t.Error("nothing tried is nothing proven")
	}
	h.report(job{}, scenario.Trial{Process: &fault.Process{}}, nil)
	line, good := h.summary()
	if want := "crash points: 1 tried, leaked=0 duplicated=0 credentials-lost=0 stuck=0 needs-human=0 bound-twice=0"; line != want || !good {
		t.Errorf("%q, %t, want %q", line, good, want)
	}
	h.report(job{}, scenario.Trial{Process: &fault.Process{}}, []violation{{credentialsLost, ""}, {stuck, ""}})
	line, good = h.summary()
	if want := "crash points: 2 tried, leaked=0 duplicated=0 credentials-lost=1 stuck=1 needs-human=0 bound-twice=0"; line != want || good {
		t.Errorf("%q, %t, want %q", line, good, want)
	}
}
