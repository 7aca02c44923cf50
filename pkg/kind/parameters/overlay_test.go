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
		"R141 nested lists of objects are united": {
			over:  `{"region": "eu", "scalingConfig": [{"maxSize": 4, "minSize": 1}]}`,
			under: `{"scalingConfig": [{"desiredSize": 1}]}`,
			want:  `{"region": "eu", "scalingConfig": [{"desiredSize": 1, "maxSize": 4, "minSize": 1}]}`,
		},
		"R141 the longer list gives the rest": {
			over:  `{"a": [{"x": 1}], "b": [{"x": 1}, {"x": 2}]}`,
			under: `{"a": [{"y": 1}, {"y": 2}], "b": [{"y": 1}]}`,
			want:  `{"a": [{"x": 1, "y": 1}, {"y": 2}], "b": [{"x": 1, "y": 1}, {"x": 2}]}`,
		},
		"R141 nested objects are united": {
			over:  `{"o": {"p": {"a": 1}}}`,
			under: `{"o": {"p": {"b": 2}}}`,
			want:  `{"o": {"p": {"a": 1, "b": 2}}}`,
		},
		"R142 forProvider wins": {over: `{"a": 1}`, under: `{"a": 2}`, want: `{"a": 1}`},
		"R142 zero values are set": {
			over:  `{"a": false, "b": 0, "c": "", "d": []}`,
			under: `{"a": true, "b": 1, "c": "x", "d": [1]}`,
			want:  `{"a": false, "b": 0, "c": "", "d": []}`,
		},
		"R142 a list of values is one value": {over: `{"a": ["x"]}`, under: `{"a": ["y", "z"]}`, want: `{"a": ["x"]}`},
		"R142 another shape is another value": {
			over:  `{"a": ["x"], "b": 1}`,
			under: `{"a": [{"y": 1}], "b": {"y": 1}}`,
			want:  `{"a": ["x"], "b": 1}`,
		},
		"R142 nil is absent": {over: `{"a": null}`, under: `{"a": 2}`, want: `{"a": 2}`},
		"R168 a reference is one value": {
			over:  `{"vRef": {"name": "a"}}`,
			under: `{"vRef": {"name": "b", "namespace": "n"}}`,
			want:  `{"vRef": {"name": "a"}}`,
		},
		"R168 a selector is one value": {
			over:  `{"vSelector": {"matchLabels": {"a": "1"}}}`,
			under: `{"vSelector": {"matchLabels": {"b": "2"}}}`,
			want:  `{"vSelector": {"matchLabels": {"a": "1"}}}`,
		},
		"P60 a secret reference is one value": {
			over:  `{"pSecretRef": {"name": "a", "key": "k"}}`,
			under: `{"pSecretRef": {"name": "b", "key": "k", "namespace": "n"}}`,
			want:  `{"pSecretRef": {"name": "a", "key": "k"}}`,
		},
		"R138 initProvider alone is sent":        {under: `{"a": 1}`, want: `{"a": 1}`},
		"R141 forProvider alone is sent":         {over: `{"a": [1], "b": null}`, want: `{"a": [1], "b": null}`},
		"R141 nothing laid over nothing is none": {},
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
		"R141 the union is sent":                      {initial: initial, want: want},
		"R141 a pointer to initProvider will do":      {initial: &initial, want: want},
		"R141 a type with some of the fields will do": {initial: partial{Zone: "a", Other: 1}, want: zoned},
		"R138 no initProvider":                        {initial: nil, want: spec},
		"R138 no initProvider behind a pointer":       {initial: (*nodeGroup)(nil), want: spec},
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
