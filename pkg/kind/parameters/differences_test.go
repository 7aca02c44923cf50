// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

type differencesCase struct {
	desired, observed, initial string
	rules                      rules
	want                       []parameters.Difference
}

func runDifferences(t *testing.T, cases map[string]differencesCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parameters.Shorten(tc.rules.Differences(tree(t, tc.desired), tree(t, tc.observed), tree(t, tc.initial)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if hides := tc.rules.Hides(tree(t, tc.desired), tree(t, tc.observed)); hides != strings.ContainsAny(fmt.Sprint(got), "…(") {
				t.Errorf("Hides returns %t", hides)
			}
		})
	}
}

func differ(path, desired, observed string) []parameters.Difference {
	return []parameters.Difference{{Path: path, Desired: desired, Observed: observed}}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	runDifferences(t, map[string]differencesCase{
		"a changed value (R137)":                {desired: `{"a": "<x>"}`, observed: `{"a": "y"}`, want: differ("a", `"<x>"`, `"y"`)},
		"a value that is gone (R137)":           {desired: `{"a": {"b": 1}}`, observed: `{}`, want: differ("a.b", "1", "null")},
		"false and 0 are not absent (R137)":     {desired: `{"a": false}`, observed: `{}`, want: differ("a", "false", "null")},
		"an emptied string (R137)":              {desired: `{"a": ""}`, observed: `{"a": "x"}`, want: differ("a", `""`, `"x"`)},
		"an emptied list (R137)":                {desired: `{"a": []}`, observed: `{"a": [1]}`, want: differ("a", "[]", "[1]")},
		"another shape (R137)":                  {desired: `{"a": {"b": 1}}`, observed: `{"a": [1]}`, want: differ("a", `{"b":1}`, "[1]")},
		"a list has an order (R137)":            {desired: `{"a": [1, 2]}`, observed: `{"a": [2, 1]}`, want: differ("a", "[1,2]", "[2,1]")},
		"a list has an end (R137)":              {desired: `{"a": [1]}`, observed: `{"a": [1, 2]}`, want: differ("a", "[1]", "[1,2]")},
		"keys with dots are in brackets (R137)": {desired: `{"t": {"a.b/c": 1}}`, observed: `{}`, want: differ("t[a.b/c]", "1", "null")},
		"what is not set is not enforced (R143)": {
			desired:  `{"a": null, "n": {"x": 1}}`,
			observed: `{"a": 1, "b": 2, "n": {"x": 1, "y": 1}}`,
		},
		"an autoscaler moves desiredSize (R143)": {
			desired:  `{"scalingConfig": [{"maxSize": 4, "minSize": 1}]}`,
			observed: `{"scalingConfig": [{"desiredSize": 3, "maxSize": 4, "minSize": 1}]}`,
		},
		"a field of an element (R137)": {
			desired: `{"scalingConfig": [{"maxSize": 4}]}`, observed: `{"scalingConfig": [{"maxSize": 5}]}`,
			want: differ("scalingConfig[0].maxSize", "4", "5"),
		},
		"an element that is gone (R137)": {
			desired: `{"r": [{"a": 1}, {"a": 2}]}`, observed: `{"r": [{"a": 1}]}`, want: differ("r[1]", `{"a":2}`, "null"),
		},
		"an element too many (R137)": {
			desired: `{"r": [{"a": 1}]}`, observed: `{"r": [{"a": 1}, {"a": 2}]}`, want: differ("r[1]", "null", `{"a":2}`),
		},
		"an element of initProvider only (R143)": {
			desired: `{"r": [{"a": 1}]}`, observed: `{"r": [{"a": 1}, {"a": 3}, {"a": 4}]}`,
			initial: `{"r": [null, {"a": 2}]}`, want: differ("r[2]", "null", `{"a":4}`),
		},
		"labels of ownership are no elements (P15)": {
			desired:  `{"t": [{"key": "a"}], "s": [{"key": "a"}]}`,
			observed: `{"t": [{"key": "bowline-uid", "value": "u"}, {"key": "a"}], "s": [{"key": "crossplane-name"}, {"key": "a"}]}`,
			rules:    rules{Sets: []string{"s"}},
		},
		"labels of ownership that are desired are enforced (P15)": {
			desired: `{"t": [{"key": "a"}, {"key": "bowline-uid"}]}`, observed: `{"t": [{"key": "a"}]}`,
			want: differ("t[1]", `{"key":"bowline-uid"}`, "null"),
		},
		"labels of ownership that are desired are found (P15)": {
			desired: `{"t": [{"key": "a"}, {"key": "bowline-uid"}]}`, observed: `{"t": [{"key": "a"}, {"key": "bowline-uid", "id": 1}]}`,
		},
		"references and selectors are passed over (R159)": {
			desired: `{"vRef": {"name": "a", "policy": {"resolve": "Always"}}, "vRefs": [{"name": "a"}],
				"vSelector": {"matchLabels": {"a": "b"}, "matchControllerRef": true}}`,
			observed: `{}`,
		},
		"a vendor's field may have such a name (R159)": {
			desired:  `{"gitRef": "main", "gitRefs": [], "podSelector": {"app": "x"}}`,
			observed: `{"gitRefs": ["main"]}`,
			want: []parameters.Difference{{Path: "gitRef", Desired: `"main"`, Observed: "null"},
				{Path: "gitRefs", Desired: "[]", Observed: `["main"]`}, {Path: "podSelector.app", Desired: `"x"`, Observed: "null"}},
		},
		"secret references are passed over (P60)": {desired: `{"pSecretRef": {"name": "a", "key": "b", "namespace": "c"}}`, observed: `{}`},
		"all differences, sorted (P81)": {
			desired: `{"b": 1, "a": {"z": 1, "y": 1}, "c": 1}`, observed: `{"c": 1}`,
			want: []parameters.Difference{{Path: "a.y", Desired: "1", Observed: "null"},
				{Path: "a.z", Desired: "1", Observed: "null"}, {Path: "b", Desired: "1", Observed: "null"}},
		},
		"long values are cut at 128 characters (P81)": {
			desired: `{"a": "` + strings.Repeat("ä", 200) + `"}`, observed: `{}`,
			want: differ("a", `"`+strings.Repeat("ä", 126)+"…", "null"),
		},
	})
}

func TestEquality(t *testing.T) {
	t.Parallel()
	runDifferences(t, map[string]differencesCase{
		"numbers by value (R137)":    {desired: `{"a": 1, "b": [2.0], "c": 3.5}`, observed: `{"a": 1.0, "b": [2], "c": 3.5}`},
		"numbers that differ (R137)": {desired: `{"a": 1}`, observed: `{"a": 1.5}`, want: differ("a", "1", "1.5")},
		"numbers beyond a float (R137)": {
			desired:  `{"a": 9007199254740993}`,
			observed: `{"a": 9007199254740992.0}`,
			want:     differ("a", "9007199254740993", "9007199254740992"),
		},
		"a number is no text (R137)":         {desired: `{"a": 1}`, observed: `{"a": "1"}`, want: differ("a", "1", `"1"`)},
		"empty is absent (R155)":             {desired: `{"a": [], "b": {}, "c": ""}`, observed: `{}`},
		"empty is as good as another (R155)": {desired: `{"a": []}`, observed: `{"a": null}`},
		"sets have no order (R137)": {
			desired: `{"a": ["x", "y"], "b": [{"n": 1}, {"n": 2}]}`, observed: `{"a": ["y", "x"], "b": [{"n": 2, "d": 0}, {"n": 1}]}`,
			rules: rules{Sets: []string{"a", "b"}},
		},
		"sets show what differs (R137)": {
			desired: `{"a": ["x", "y", "y"]}`, observed: `{"a": ["y", "z", "x"]}`, rules: rules{Sets: []string{"a"}},
			want: differ("a", `["y"]`, `["z"]`),
		},
		"a vague element leaves the precise one its partner (R137)": {
			desired: `{"a": [{"x": 1}, {"y": 2}]}`, observed: `{"a": [{"x": 1, "y": 2}, {"x": 1}]}`, rules: rules{Sets: []string{"a"}},
		},
		"too many in a set (R137)": {
			desired: `{"a": ["x"]}`, observed: `{"a": ["y", "x"]}`, rules: rules{Sets: []string{"a"}}, want: differ("a", "[]", `["y"]`),
		},
		"lists that may have more (R137)": {
			desired: `{"a": ["x"], "b": [{"n": 1}], "c": ["x"]}`, observed: `{"a": ["y", "x"], "b": [{"n": 1}, {"n": 2}], "c": ["x", "y"]}`,
			rules: rules{Sets: []string{"a"}, Extra: []string{"a", "b", "c"}},
		},
		"case (R137)": {
			desired:  `{"a": "X", "b": ["Y"]}`,
			observed: `{"a": "x", "b": ["y"]}`,
			rules:    rules{IgnoreCase: []string{"a", "b"}},
		},
		"case matters (R137)": {desired: `{"a": "X"}`, observed: `{"a": "x"}`, want: differ("a", `"X"`, `"x"`)},
		"JSON in a string (R137)": {
			desired: `{"p": "{\"a\": 1, \"b\": [2]}"}`, observed: `{"p": "{\"b\":[2],\"a\":1.0}"}`, rules: rules{JSON: []string{"p"}},
		},
		"JSON in a string differs (R137)": {
			desired: `{"p": "{\"a\": 1}"}`, observed: `{"p": "{\"a\": 1, \"b\": 2}"}`, rules: rules{JSON: []string{"p"}},
			want: differ("p", `{"a":1}`, `{"a":1,"b":2}`),
		},
		"ignored elements (R137)": {
			desired: `{"a": [{"x": 1}, {"x": 2}], "b": [{"x": 1}]}`, observed: `{"a": [{"x": 1}], "b": [{"x": 1}, {"x": 2}]}`,
			rules: rules{Ignored: []string{"a[1]", "b[1]"}},
		},
		"ignored fields (R137)": {
			desired: `{"a": 1, "l": [{"x": 1, "y": 1}, {"y": 1}], "n": {"o": 1}}`, observed: `{"l": [{"x": 2, "y": 2}, {"y": 2}]}`,
			rules: rules{Ignored: []string{"a", "l[*].x", "l[0].y", "n"}}, want: differ("l[1].y", "1", "2"),
		},
	})
}

func TestNothingSensitiveIsShown(t *testing.T) {
	t.Parallel()
	hidden := func(path string) []parameters.Difference { return differ(path, "(sensitive)", "(sensitive)") }
	runDifferences(t, map[string]differencesCase{
		"by name (N8)": {
			desired:  `{"adminPassword": "s3cret"}`,
			observed: `{"adminPassword": "other"}`,
			want:     hidden("adminPassword"),
		},
		"absent (N8)":       {desired: `{"api_key": "s3cret"}`, observed: `{}`, want: hidden("api_key")},
		"below a name (N8)": {desired: `{"tokens": {"a": ["s3cret"]}}`, observed: `{}`, want: hidden("tokens.a")},
		"key material (N8)": {desired: `{"keyMaterial": "s3cret"}`, observed: `{}`, want: hidden("keyMaterial")},
		"by option (N8)": {
			desired:  `{"u": [{"pin": 1}]}`,
			observed: `{"u": [{"pin": 2}]}`,
			rules:    rules{Sensitive: []string{"u.pin"}},
			want:     hidden("u[0].pin"),
		},
		"below an option (N8)": {
			desired:  `{"u": [{"pin": 1}]}`,
			observed: `{"u": [{"pin": 2}]}`,
			rules:    rules{Sensitive: []string{"u"}},
			want:     hidden("u[0].pin"),
		},
		"by the map's key (N8)": {desired: `{"env": {"DB_PASSWORD": "s3cret"}}`, observed: `{}`, want: hidden("env.DB_PASSWORD")},
		"by the name beside (N8)": {
			desired: `{"env": [{"name": "DB_PASSWORD", "value": "s3cret"}]}`, observed: `{"env": [{"name": "DB_PASSWORD", "value": "other"}]}`,
			want: hidden("env[0].value"),
		},
		"by the name beside, observed (N8)": {
			desired: `{"env": [{"value": "x"}]}`, observed: `{"env": [{"name": "DB_PASSWORD", "value": "s3cret"}]}`, want: hidden("env[0].value"),
		},
		"in an element that is gone (N8)": {
			desired: `{"u": [{"name": "a", "password": "s3cret"}]}`, observed: `{}`,
			want: differ("u[0]", `{"name":"a","password":"(sensitive)"}`, "null"),
		},
		"in an element of a set (N8)": {
			desired: `{"u": [{"name": "a"}]}`, observed: `{"u": [{"name": "b", "password": "s3cret"}]}`, rules: rules{Sets: []string{"u"}},
			want: differ("u", `[{"name":"a"}]`, `[{"name":"b","password":"(sensitive)"}]`),
		},
		"in another shape (N8)": {
			desired:  `{"u": 1}`,
			observed: `{"u": {"password": "s3cret"}}`,
			want:     differ("u", "1", `{"password":"(sensitive)"}`),
		},
		"in a JSON document (N8)": {
			desired: `{"p": "{\"password\": \"s3cret\", \"pin\": 1}"}`, observed: `{"p": "s3cret"}`,
			rules: rules{JSON: []string{"p"}, Sensitive: []string{"p.pin"}},
			want:  differ("p", `{"password":"(sensitive)","pin":"(sensitive)"}`, `"(not JSON)"`),
		},
		"in text instead of JSON (N8)": {
			desired: `{"p": "password=s3cret"}`, observed: `{}`, rules: rules{JSON: []string{"p"}}, want: differ("p", `"(not JSON)"`, "null"),
		},
	})
}

func TestManyDifferences(t *testing.T) {
	t.Parallel()
	desired := map[string]any{}
	for i := range 50 {
		desired[fmt.Sprintf("field%02d", i)] = int64(i)
	}
	got := parameters.Shorten(rules{}.Differences(desired, nil, nil))
	if len(got) != 33 || got[31].Path != "field31" {
		t.Fatalf("%d differences instead of 33: %v (P81)", len(got), got)
	}
	if diff := cmp.Diff(parameters.Difference{Path: "and 18 more"}, got[32]); diff != "" {
		t.Errorf("-want +got (P81):\n%s", diff)
	}
}
