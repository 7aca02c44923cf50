// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

func TestFillDefaults(t *testing.T) {
	t.Parallel()
	type tree = map[string]any
	rules := parameters.Rules{Defaults: map[string]string{
		"size": "30", "ratio": "0.5", "public": "true", "tier": `"basic"`, "net.mtu": "1500", "retries": "0",
	}}
	for name, tc := range map[string]struct{ answer, desired, want tree }{
		"a default stands for what is absent (R143)": {
			tree{}, nil,
			tree{"size": 30.0, "ratio": 0.5, "public": true, "tier": "basic", "net": tree{"mtu": 1500.0}, "retries": 0.0},
		},
		"a default stands for zero (R143)": {
			tree{"size": int64(0), "ratio": 0.0, "public": false, "tier": "", "net": tree{"mtu": int64(0)}, "retries": int64(0)}, nil,
			tree{"size": 30.0, "ratio": 0.5, "public": true, "tier": "basic", "net": tree{"mtu": 1500.0}, "retries": 0.0},
		},
		"an answer stays (R143)": {
			tree{"size": int64(1), "ratio": 2.5, "public": true, "tier": "large", "net": tree{"mtu": int64(9000)}, "retries": int64(3)}, nil,
			tree{"size": int64(1), "ratio": 2.5, "public": true, "tier": "large", "net": tree{"mtu": int64(9000)}, "retries": int64(3)},
		},
		"zero stays where the user asks for it (R143)": {
			tree{"size": int64(0), "public": false, "tier": "", "net": tree{"mtu": int64(0)}, "retries": int64(0)},
			tree{"size": int64(0), "ratio": 0.0, "public": false, "tier": "", "net": tree{"mtu": int64(0)}, "retries": int64(3)},
			tree{"size": int64(0), "ratio": 0.5, "public": false, "tier": "", "net": tree{"mtu": int64(0)}, "retries": 0.0},
		},
		"zero stays where there is no default (R143)": {
			tree{"size": int64(1), "ratio": 2.5, "public": true, "tier": "a", "net": tree{"mtu": int64(1), "nat": false},
				"retries": int64(1), "weight": int64(0)}, nil,
			tree{"size": int64(1), "ratio": 2.5, "public": true, "tier": "a", "net": tree{"mtu": int64(1), "nat": false},
				"retries": int64(1), "weight": int64(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rules.FillDefaults(rules.WithoutUnset(tc.answer, tc.desired))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
	t.Run("zero stays where it is told from nothing (R137)", func(t *testing.T) {
		t.Parallel()
		answer := tree{"size": int64(0), "public": false, "tier": "", "net": tree{"mtu": int64(0)}, "retries": int64(0)}
		got, err := rules.FillDefaults(rules.WithoutUnset(answer, nil, "size", "public", "tier", "net.mtu"))
		want := tree{"size": int64(0), "ratio": 0.5, "public": false, "tier": "basic", "net": tree{"mtu": int64(0)}, "retries": 0.0}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
	t.Run("no JSON is an error (R143)", func(t *testing.T) {
		t.Parallel()
		if _, err := (parameters.Rules{Defaults: map[string]string{"tier": "basic"}}).FillDefaults(tree{}); err == nil {
			t.Error("no error")
		}
	})
}

func TestDefaultsOfObjects(t *testing.T) {
	t.Parallel()
	type tree = map[string]any
	rules := parameters.Rules{Defaults: map[string]string{"scaling.max": "9", "scaling": `{"min": 1}`}}
	for name, tc := range map[string]struct{ answer, desired, want tree }{
		"it stands for what is absent (R143)":   {tree{}, nil, tree{"min": 1.0, "max": 9.0}},
		"it stands for zero in a field (R143)":  {tree{"scaling": tree{"min": int64(0)}}, nil, tree{"min": 1.0, "max": 9.0}},
		"it stands beside another field (R143)": {tree{"scaling": tree{"min": int64(0), "max": int64(3)}}, nil, tree{"min": 1.0, "max": int64(3)}},
		"an answer stays (R143)":                {tree{"scaling": tree{"min": int64(2)}}, nil, tree{"min": int64(2), "max": 9.0}},
		"zero stays where the user asks so (R143)": {
			tree{"scaling": tree{"min": int64(0)}}, tree{"scaling": tree{"min": int64(0)}}, tree{"min": int64(0), "max": 9.0},
		},
		"zero without default stays (R143)": {
			tree{"scaling": tree{"step": int64(0)}}, nil, tree{"min": 1.0, "max": 9.0, "step": int64(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rules.FillDefaults(rules.WithoutUnset(tc.answer, tc.desired))
			if diff := cmp.Diff(tree{"scaling": tc.want}, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}
