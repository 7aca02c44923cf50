// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
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
	of := func(owners ...types.UID) (all []External) {
		for _, owner := range owners {
			all = append(all, External{Owner: owner})
		}
		return all
	}
	none, a, b := []resource.Managed(nil), object("a", "", ""), object("b", "", "")
	cases := map[string]struct {
		claims   []resource.Claim
		objects  []resource.Managed
		external []External
		want     []Class
	}{
		"one external resource each": {objects: []resource.Managed{a, b}, external: of("a", "b")},
		"of a lost object":           {objects: []resource.Managed{a}, external: of("a", "c", "c"), want: []Class{Leaked, Leaked}},
		"without an owner":           {objects: none, external: of(""), want: []Class{Leaked}},
		"three for one object":       {objects: []resource.Managed{a}, external: of("a", "a", "a"), want: []Class{Duplicated, Duplicated}},
		"none yet":                   {claims: []resource.Claim{claim("a", "")}, objects: []resource.Managed{a}},
		"one each": {
			claims:  []resource.Claim{claim("a", "x"), claim("b", "y")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "b", bound)},
		},
		"released":            {objects: []resource.Managed{object("x", "a", released)}},
		"of a claim not here": {claims: []resource.Claim{claim("b", "")}, objects: []resource.Managed{object("x", "a", bound)}, want: []Class{Leaked}},
		"two for one claim": {
			claims:  []resource.Claim{claim("a", "x")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "a", "")}, want: []Class{Duplicated},
		},
		"one released for a claim that has another": {
			claims:  []resource.Claim{claim("a", "x")},
			objects: []resource.Managed{object("x", "a", bound), object("y", "a", released)}, want: []Class{Duplicated},
		},
		"two claims have it": {
			claims:  []resource.Claim{claim("a", "x"), claim("b", "x")},
			objects: []resource.Managed{object("x", "a", bound)}, want: []Class{BoundTwice},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Class
			for _, v := range Violations(tc.claims, tc.objects, tc.external) {
				got = append(got, v.Class)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
