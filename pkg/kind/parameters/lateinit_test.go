// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

type fillCase struct {
	spec, observed, initial string
	options                 []parameters.Option
	want                    string
	filled                  []string
}

func runFill(t *testing.T, cases map[string]fillCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := append(tc.options, parameters.InitProvider(tree(t, tc.initial)))
			got, filled := parameters.Fill(tree(t, tc.spec), tree(t, tc.observed), options...)
			if diff := cmp.Diff(tree(t, tc.want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.filled, filled); diff != "" {
				t.Errorf("filled -want +got:\n%s", diff)
			}
		})
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	runFill(t, map[string]fillCase{
		"what the vendor chose is stored (R150)": {
			spec: `{"region": "eu"}`, observed: `{"region": "eu", "availabilityZone": "eu-1"}`,
			want: `{"region": "eu", "availabilityZone": "eu-1"}`, filled: []string{"availabilityZone"},
		},
		"a set value stays (R149)": {
			spec: `{"a": "x", "b": [1], "c": {"d": 1}}`, observed: `{"a": "y", "b": [2], "c": {"d": 2}}`,
			want: `{"a": "x", "b": [1], "c": {"d": 1}}`,
		},
		"false and 0 are set (R155)": {spec: `{"a": false, "b": 0}`, observed: `{"a": true, "b": 1}`, want: `{"a": false, "b": 0}`},
		"nil, empty strings, lists and objects are filled (R155)": {
			spec: `{"a": null, "b": "", "c": [], "d": {}}`, observed: `{"a": 1, "b": "x", "c": [1], "d": {"e": 1}}`,
			want: `{"a": 1, "b": "x", "c": [1], "d": {"e": 1}}`, filled: []string{"a", "b", "c", "d.e"},
		},
		"nothing is filled with emptiness (R155)": {
			spec: `{"x": 1}`, observed: `{"a": null, "b": "", "c": [], "d": {"e": {}}, "f": [{}]}`, want: `{"x": 1}`,
		},
		"false and 0 of the vendor are values (R155)": {
			observed: `{"a": false, "b": 0}`, want: `{"a": false, "b": 0}`, filled: []string{"a", "b"},
		},
		"objects are filled field by field (R149)": {
			spec: `{"n": {"a": 1}}`, observed: `{"n": {"a": 2, "b": 3}}`, want: `{"n": {"a": 1, "b": 3}}`, filled: []string{"n.b"},
		},
		"elements are filled, not added (R149)": {
			spec:     `{"s": [{"max": 4}]}`,
			observed: `{"s": [{"max": 4, "min": 1}, {"max": 9}]}`,
			want:     `{"s": [{"max": 4, "min": 1}]}`, filled: []string{"s[0].min"},
		},
		"an element that contradicts may be another thing (R149)": {
			spec:     `{"s": [{"name": "a", "n": {"x": [1]}}]}`,
			observed: `{"s": [{"name": "b", "size": 1}, {"name": "a"}]}`,
			want:     `{"s": [{"name": "a", "n": {"x": [1]}}]}`,
		},
		"elements of a set are not filled (R149)": {
			spec: `{"s": [{"max": 4}]}`, observed: `{"s": [{"max": 4, "min": 1}]}`, want: `{"s": [{"max": 4}]}`,
			options: []parameters.Option{parameters.AsSet("s")},
		},
		"an absent set is filled (R149)": {
			spec: `{}`, observed: `{"s": [{"max": 4}]}`, want: `{"s": [{"max": 4}]}`, filled: []string{"s[0].max"},
			options: []parameters.Option{parameters.AsSet("s")},
		},
	})
}

func TestFillLeavesOut(t *testing.T) {
	t.Parallel()
	runFill(t, map[string]fillCase{
		"tags of the vendor are taken (R151)": {
			spec: `{"tags": {"team": "a"}}`, observed: `{"tags": {"team": "a", "example.org/cost": "7"}}`,
			want: `{"tags": {"team": "a", "example.org/cost": "7"}}`, filled: []string{"tags[example.org/cost]"},
		},
		"labels of ownership are not taken (P15)": {
			spec: `{"tags": {"team": "a"}}`,
			observed: `{"tags": {"crossplane-kind": "k", "crossplane-name": "n", "crossplane-provider": "p", "bowline-uid": "u"},
				"labels": {"crossplanekind": "k", "bowline_uid": "u", "x": "y"}}`,
			want: `{"tags": {"team": "a"}, "labels": {"x": "y"}}`, filled: []string{"labels.x"},
		},
		"labels of ownership in lists are not taken (P15)": {
			spec: `{"old": [{"key": "team"}]}`,
			observed: `{"old": [{"key": "crossplane-name", "value": "n"}, {"key": "team", "value": "a"}],
				"new": [{"key": "bowline-uid", "value": "u"}, {"key": "x", "value": "y"}], "none": [{"key": "bowline-uid"}]}`,
			want:   `{"old": [{"key": "team", "value": "a"}], "new": [{"key": "x", "value": "y"}]}`,
			filled: []string{"new[0].key", "new[0].value", "old[0].value"},
		},
		"what initProvider sets is not filled (R146)": {
			spec: `{}`, initial: `{"size": 0, "zones": ["a"], "tags": {"a": "1"}}`,
			observed: `{"size": 3, "zones": ["a", "b"], "tags": {"a": "1", "b": "2"}}`,
			want:     `{"tags": {"b": "2"}}`, filled: []string{"tags.b"},
		},
		"nor inside lists that are there (R146)": {
			spec: `{"s": [{"max": 4}]}`, initial: `{"s": [{"desired": 1}]}`, observed: `{"s": [{"desired": 2, "max": 4, "min": 1}]}`,
			want: `{"s": [{"max": 4, "min": 1}]}`, filled: []string{"s[0].min"},
		},
		"nor inside lists that are not (R146)": {
			spec: `{}`, initial: `{"s": [{"a": 1}, {"b": 1}], "t": [{"a": 1}]}`,
			observed: `{"s": [{"a": 1}, {"a": 2, "b": 2}], "t": [{"a": 1}]}`,
			want:     `{"s": [{}, {"a": 2}]}`, filled: []string{"s[1].a"},
		},
		"ignored fields are not filled (R149)": {
			spec: `{"n": {"x": 1}}`, observed: `{"a": 1, "b": 1, "n": {"a": 1}, "s": [{"id": 1, "x": 1}]}`,
			options: []parameters.Option{parameters.Ignore("a", "n", "s[*].id")},
			want:    `{"b": 1, "n": {"x": 1}, "s": [{"x": 1}]}`, filled: []string{"b", "s[0].x"},
		},
		"what only users choose is not filled (R149)": {
			spec: `{"n": {"x": 1}}`, observed: `{"owner": "o", "n": {"a": 1}, "s": 1}`,
			options: parameters.Rules{Chosen: []string{"owner", "n"}}.Options(),
			want:    `{"n": {"x": 1}, "s": 1}`, filled: []string{"s"},
		},
		"references stay as they are (R168)": {
			spec: `{"vRef": {"name": "a"}}`, observed: `{"vRef": {"name": "a", "namespace": "n"}}`, want: `{"vRef": {"name": "a"}}`,
		},
		"another shape stays (R149)": {
			spec: `{"a": 1, "b": [1], "c": {"d": 1}}`, observed: `{"a": {"x": 1}, "b": [{"x": 1}], "c": [{"x": 1}]}`,
			want: `{"a": 1, "b": [1], "c": {"d": 1}}`,
		},
	})
}

func TestLateInitialize(t *testing.T) {
	t.Parallel()
	const big = math.MaxInt64 - 1 // does not fit a float64
	cases := map[string]struct {
		spec, observed nodeGroup
		options        []parameters.Option
		want           nodeGroup
		changed        bool
	}{
		"pointers, maps and lists are filled (R150)": {
			spec:     nodeGroup{Region: "eu", Scaling: []scaling{{Max: new(int64(4))}}},
			observed: nodeGroup{Region: "eu", Zone: new("eu-1"), Weight: new(int64(big)), Scaling: []scaling{{Min: new(int64(0))}}},
			want: nodeGroup{Region: "eu", Zone: new("eu-1"), Weight: new(int64(big)),
				Scaling: []scaling{{Max: new(int64(4)), Min: new(int64(0))}}},
			changed: true,
		},
		"zero values behind pointers stay (R155)": {
			spec:     nodeGroup{Public: new(false), Weight: new(int64(0))},
			observed: nodeGroup{Public: new(true), Weight: new(int64(7))},
			want:     nodeGroup{Public: new(false), Weight: new(int64(0))},
		},
		"what initProvider sets is not filled (R146)": {
			spec:     nodeGroup{},
			observed: nodeGroup{Zone: new("eu-1"), Weight: new(int64(7))},
			options:  []parameters.Option{parameters.InitProvider(&nodeGroup{Weight: new(int64(1))})},
			want:     nodeGroup{Zone: new("eu-1")},
			changed:  true,
		},
		"nothing to fill is no change (R154)": {spec: nodeGroup{Region: "eu"}, observed: nodeGroup{Region: "us"}, want: nodeGroup{Region: "eu"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.spec
			changed, err := parameters.LateInitialize(&got, tc.observed, tc.options...)
			if err != nil || changed != tc.changed {
				t.Errorf("changed %t instead of %t, error %v", changed, tc.changed, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoTree(t *testing.T) {
	t.Parallel()
	good, bad := nodeGroup{Region: "eu"}, nodeGroup{Extra: make(chan int)}
	if _, err := parameters.ForCreation(good, bad); err == nil {
		t.Error("ForCreation accepts a channel")
	}
	if _, err := parameters.Compare(good, bad); err == nil {
		t.Error("Compare accepts a channel")
	}
	if _, err := parameters.Compare(good, good, parameters.InitProvider("eu")); err == nil {
		t.Error("Compare accepts an initProvider that is no object")
	}
	spec := good
	if _, err := parameters.LateInitialize(&spec, bad); err == nil {
		t.Error("LateInitialize accepts a channel")
	}
	if _, err := parameters.LateInitialize(nil, good); err == nil {
		t.Error("LateInitialize fills nothing that anybody sees")
	}
	if diff := cmp.Diff(good, spec); diff != "" {
		t.Errorf("a refused LateInitialize changes something -want +got:\n%s", diff)
	}
}
