// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func TestManagementPolicies(t *testing.T) {
	all := []v1.ManagementAction{"Create", "Delete", "LateInitialize", "Observe", "Update"}
	cases := map[string]struct {
		policies v1.ManagementPolicies
		allowed  []v1.ManagementAction
		empty    bool
	}{
		"absent is everything (R109, R118)": {policies: nil, allowed: all},
		"empty is nothing (R118, R104)":     {policies: v1.ManagementPolicies{}, empty: true},
		"the star is everything (R117)":     {policies: v1.ManagementPolicies{"*"}, allowed: all},
		"the star beside others (R117)":     {policies: v1.ManagementPolicies{"Observe", "*"}, allowed: all},
		"order and repetitions (R117)": {
			policies: v1.ManagementPolicies{"Observe", "Create", "Observe"}, allowed: []v1.ManagementAction{"Create", "Observe"}},
		"one action alone is allowed (R113)": {policies: v1.ManagementPolicies{"Observe"}, allowed: []v1.ManagementAction{"Observe"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var allowed []v1.ManagementAction
			for _, a := range all {
				if tc.policies.Allow(a) {
					allowed = append(allowed, a)
				}
			}
			if diff := cmp.Diff(tc.allowed, allowed); diff != "" || tc.policies.Empty() != tc.empty {
				t.Errorf("empty %t, allowed -want +got:\n%s", tc.policies.Empty(), diff)
			}
		})
	}
}

// An explicit empty list is the user's will to pause; the API's default would turn an absent one into "*".
func TestEmptyPoliciesSurvive(t *testing.T) {
	for name, tc := range map[string]struct{ json, want string }{
		"empty stays empty (R106)":   {json: `{"managementPolicies":[]}`, want: `{"managementPolicies":[]}`},
		"absent stays absent (R106)": {json: `{}`, want: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			var spec v1.ResourceSpec
			if err := json.Unmarshal([]byte(tc.json), &spec); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(spec)
			if err != nil || string(got) != tc.want {
				t.Errorf("through JSON: %s, %v", got, err)
			}
			u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if got, err = json.Marshal(u); err != nil || string(got) != tc.want {
				t.Errorf("through an unstructured copy: %s, %v", got, err)
			}
		})
	}
}
