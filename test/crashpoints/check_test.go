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

func TestStrays(t *testing.T) {
	t.Parallel()
	objects := []resource.Managed{
		&v1alpha3.Network{ObjectMeta: metav1.ObjectMeta{UID: "a"}}, &v1alpha3.Network{ObjectMeta: metav1.ObjectMeta{UID: "b"}},
	}
	cases := map[string]struct {
		all  []inspect.External
		want []class
	}{
		"one each":          {[]inspect.External{{Owner: "a"}, {Owner: "b"}}, nil},
		"of a lost object":  {[]inspect.External{{Owner: "a"}, {Owner: "c"}, {Owner: "c"}}, []class{leaked, leaked}},
		"without an owner":  {[]inspect.External{{}}, []class{leaked}},
		"two for one":       {[]inspect.External{{Owner: "a"}, {Owner: "b"}, {Owner: "a"}}, []class{duplicated}},
		"three for one":     {[]inspect.External{{Owner: "a"}, {Owner: "a"}, {Owner: "a"}}, []class{duplicated, duplicated}},
		"none is not stray": {nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []class
			for _, v := range strays(objects, tc.all) {
				got = append(got, v.class)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	claim := func(uid types.UID, has string) resource.Claim {
		c := &cachev1alpha1.RedisCluster{ObjectMeta: metav1.ObjectMeta{UID: uid, Name: string(uid)}}
		if has != "" {
			c.SetResourceReference(&corev1.ObjectReference{Name: has})
			c.SetBindingPhase(xpv1.BindingPhaseBound)
		}
		return c
	}
	made := func(name string, of types.UID, phase xpv1.BindingPhase) resource.Managed {
		mg := &cachev1alpha3.CacheInstance{ObjectMeta: metav1.ObjectMeta{Name: name}}
		mg.SetClaimReference(&corev1.ObjectReference{UID: of})
		mg.SetBindingPhase(phase)
		return mg
	}
	bound, released := xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased
	nobodys := &cachev1alpha3.CacheInstance{}
	cases := map[string]struct {
		claims  []resource.Claim
		objects []resource.Managed
		want    []class
	}{
		"one each": {
			[]resource.Claim{claim("a", "x"), claim("b", "y")}, []resource.Managed{made("x", "a", bound), made("y", "b", bound)}, nil},
		"none yet":            {[]resource.Claim{claim("a", "")}, nil, nil},
		"of nobody":           {nil, []resource.Managed{nobodys}, nil},
		"released":            {nil, []resource.Managed{made("x", "a", released)}, nil},
		"of a claim not here": {[]resource.Claim{claim("b", "")}, []resource.Managed{made("x", "a", bound)}, []class{leaked}},
		"two for one claim": {
			[]resource.Claim{claim("a", "x")}, []resource.Managed{made("x", "a", bound), made("y", "a", "")}, []class{duplicated}},
		"two claims have it": {
			[]resource.Claim{claim("a", "x"), claim("b", "x")}, []resource.Managed{made("x", "a", bound)}, []class{boundTwice}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []class
			for _, v := range bindings(tc.claims, tc.objects) {
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
		"of another state":  {[]xpv1.Condition{xpv1.Available(), xpv1.ReconcileSuccess().WithObservedGeneration(1)}, "generation 2; Ready: Available ; Synced for generation 1: ReconcileSuccess "},
		"creating":          {[]xpv1.Condition{xpv1.Creating(), xpv1.ReconcileSuccess().WithObservedGeneration(2)}, "generation 2; Ready: Creating ; Synced for generation 2: ReconcileSuccess "},
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
