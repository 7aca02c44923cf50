// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// tree reads a tree as tables show it. An empty text is an absent tree.
func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var parsed map[string]any
	if err := utiljson.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("the test's tree %s: %v", text, err)
	}
	return parsed
}

// A nodeGroup has the shapes that Go types of parameters have.
type nodeGroup struct {
	Region  string            `json:"region,omitempty"`
	Zone    *string           `json:"zone,omitempty"`
	Public  *bool             `json:"public,omitempty"`
	Weight  *int64            `json:"weight,omitempty"`
	Scaling []scaling         `json:"scalingConfig,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	Extra   any               `json:"extra,omitempty"`
}

type scaling struct {
	Desired *int64 `json:"desiredSize,omitempty"`
	Max     *int64 `json:"maxSize,omitempty"`
	Min     *int64 `json:"minSize,omitempty"`
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ over, under, want string }{
		"nested lists of objects are united (R141)": {
			over:  `{"region": "eu", "scalingConfig": [{"maxSize": 4, "minSize": 1}]}`,
			under: `{"scalingConfig": [{"desiredSize": 1}]}`,
			want:  `{"region": "eu", "scalingConfig": [{"desiredSize": 1, "maxSize": 4, "minSize": 1}]}`,
		},
		"the longer list gives the rest (R141)": {
			over:  `{"a": [{"x": 1}], "b": [{"x": 1}, {"x": 2}]}`,
			under: `{"a": [{"y": 1}, {"y": 2}], "b": [{"y": 1}]}`,
			want:  `{"a": [{"x": 1, "y": 1}, {"y": 2}], "b": [{"x": 1, "y": 1}, {"x": 2}]}`,
		},
		"nested objects are united (R141)": {
			over:  `{"o": {"p": {"a": 1}}}`,
			under: `{"o": {"p": {"b": 2}}}`,
			want:  `{"o": {"p": {"a": 1, "b": 2}}}`,
		},
		"forProvider wins (R142)": {over: `{"a": 1}`, under: `{"a": 2}`, want: `{"a": 1}`},
		"zero values are set (R142)": {
			over:  `{"a": false, "b": 0, "c": "", "d": []}`,
			under: `{"a": true, "b": 1, "c": "x", "d": [1]}`,
			want:  `{"a": false, "b": 0, "c": "", "d": []}`,
		},
		"a list of values is one value (R142)": {over: `{"a": ["x"]}`, under: `{"a": ["y", "z"]}`, want: `{"a": ["x"]}`},
		"another shape is another value (R142)": {
			over:  `{"a": ["x"], "b": 1}`,
			under: `{"a": [{"y": 1}], "b": {"y": 1}}`,
			want:  `{"a": ["x"], "b": 1}`,
		},
		"nil is absent (R142)": {over: `{"a": null}`, under: `{"a": 2}`, want: `{"a": 2}`},
		"a reference is one value (R168)": {
			over:  `{"vRef": {"name": "a"}}`,
			under: `{"vRef": {"name": "b", "namespace": "n"}}`,
			want:  `{"vRef": {"name": "a"}}`,
		},
		"a selector is one value (R168)": {
			over:  `{"vSelector": {"matchLabels": {"a": "1"}}}`,
			under: `{"vSelector": {"matchLabels": {"b": "2"}}}`,
			want:  `{"vSelector": {"matchLabels": {"a": "1"}}}`,
		},
		"a secret reference is one value (P60)": {
			over:  `{"pSecretRef": {"name": "a", "key": "k"}}`,
			under: `{"pSecretRef": {"name": "b", "key": "k", "namespace": "n"}}`,
			want:  `{"pSecretRef": {"name": "a", "key": "k"}}`,
		},
		"initProvider alone is sent (R138)":        {under: `{"a": 1}`, want: `{"a": 1}`},
		"forProvider alone is sent (R141)":         {over: `{"a": [1], "b": null}`, want: `{"a": [1], "b": null}`},
		"nothing laid over nothing is none (R141)": {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tree(t, tc.want), parameters.Overlay(tree(t, tc.over), tree(t, tc.under))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestForCreation(t *testing.T) {
	t.Parallel()
	spec := nodeGroup{Region: "eu", Scaling: []scaling{{Max: new(int64(4)), Min: new(int64(1))}}}
	initial := nodeGroup{Region: "us", Public: new(false), Scaling: []scaling{{Desired: new(int64(1))}}}
	want := nodeGroup{Region: "eu", Public: new(false),
		Scaling: []scaling{{Desired: new(int64(1)), Max: new(int64(4)), Min: new(int64(1))}}}

	type partial struct {
		Zone  string `json:"zone"`
		Other int    `json:"other"`
	}
	zoned := spec
	zoned.Zone = new("a")
	cases := map[string]struct {
		initial any
		want    nodeGroup
	}{
		"the union is sent (R141)":                      {initial: initial, want: want},
		"a pointer to initProvider will do (R141)":      {initial: &initial, want: want},
		"a type with some of the fields will do (R141)": {initial: partial{Zone: "a", Other: 1}, want: zoned},
		"no initProvider (R138)":                        {initial: nil, want: spec},
		"no initProvider behind a pointer (R138)":       {initial: (*nodeGroup)(nil), want: spec},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parameters.ForCreation(spec, tc.initial)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}
