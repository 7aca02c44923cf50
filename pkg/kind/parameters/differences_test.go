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
	desired, observed string
	options           []parameters.Option
	want              []parameters.Difference
}

func runDifferences(t *testing.T, cases map[string]differencesCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parameters.Differences(tree(t, tc.desired), tree(t, tc.observed), tc.options...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func differ(path, desired, observed string) []parameters.Difference {
	return []parameters.Difference{{Path: path, Desired: desired, Observed: observed}}
}

func options(o ...parameters.Option) []parameters.Option { return o }

func TestDifferences(t *testing.T) {
	t.Parallel()
	runDifferences(t, map[string]differencesCase{
		"R137 a changed value":                {desired: `{"a": "<x>"}`, observed: `{"a": "y"}`, want: differ("a", `"<x>"`, `"y"`)},
		"R137 a value that is gone":           {desired: `{"a": {"b": 1}}`, observed: `{}`, want: differ("a.b", "1", "null")},
		"R137 false and 0 are not absent":     {desired: `{"a": false}`, observed: `{}`, want: differ("a", "false", "null")},
		"R137 an emptied string":              {desired: `{"a": ""}`, observed: `{"a": "x"}`, want: differ("a", `""`, `"x"`)},
		"R137 an emptied list":                {desired: `{"a": []}`, observed: `{"a": [1]}`, want: differ("a", "[]", "[1]")},
		"R137 another shape":                  {desired: `{"a": {"b": 1}}`, observed: `{"a": [1]}`, want: differ("a", `{"b":1}`, "[1]")},
		"R137 a list has an order":            {desired: `{"a": [1, 2]}`, observed: `{"a": [2, 1]}`, want: differ("a", "[1,2]", "[2,1]")},
		"R137 a list has an end":              {desired: `{"a": [1]}`, observed: `{"a": [1, 2]}`, want: differ("a", "[1]", "[1,2]")},
		"R137 keys with dots are in brackets": {desired: `{"t": {"a.b/c": 1}}`, observed: `{}`, want: differ("t[a.b/c]", "1", "null")},
		"R143 what is not set is not enforced": {
			desired:  `{"a": null, "n": {"x": 1}}`,
			observed: `{"a": 1, "b": 2, "n": {"x": 1, "y": 1}}`,
		},
		"R143 an autoscaler moves desiredSize": {
			desired:  `{"scalingConfig": [{"maxSize": 4, "minSize": 1}]}`,
			observed: `{"scalingConfig": [{"desiredSize": 3, "maxSize": 4, "minSize": 1}]}`,
		},
		"R137 a field of an element": {
			desired: `{"scalingConfig": [{"maxSize": 4}]}`, observed: `{"scalingConfig": [{"maxSize": 5}]}`,
			want: differ("scalingConfig[0].maxSize", "4", "5"),
		},
		"R137 an element that is gone": {
			desired: `{"r": [{"a": 1}, {"a": 2}]}`, observed: `{"r": [{"a": 1}]}`, want: differ("r[1]", `{"a":2}`, "null"),
		},
		"R137 an element too many": {
			desired: `{"r": [{"a": 1}]}`, observed: `{"r": [{"a": 1}, {"a": 2}]}`, want: differ("r[1]", "null", `{"a":2}`),
		},
		"R143 an element of initProvider only": {
			desired: `{"r": [{"a": 1}]}`, observed: `{"r": [{"a": 1}, {"a": 3}, {"a": 4}]}`,
			options: options(parameters.InitProvider(map[string]any{"r": []any{nil, map[string]any{"a": 2}}})),
			want:    differ("r[2]", "null", `{"a":4}`),
		},
		"P15 labels of ownership are nobody's elements": {
			desired:  `{"t": [{"key": "a"}], "s": [{"key": "a"}]}`,
			observed: `{"t": [{"key": "bowline-uid", "value": "u"}, {"key": "a"}], "s": [{"key": "crossplane-name"}, {"key": "a"}]}`,
			options:  options(parameters.AsSet("s")),
		},
		"P15 labels of ownership that are desired are enforced": {
			desired: `{"t": [{"key": "a"}, {"key": "bowline-uid"}]}`, observed: `{"t": [{"key": "a"}]}`,
			want: differ("t[1]", `{"key":"bowline-uid"}`, "null"),
		},
		"P15 labels of ownership that are desired are found": {
			desired: `{"t": [{"key": "a"}, {"key": "bowline-uid"}]}`, observed: `{"t": [{"key": "a"}, {"key": "bowline-uid", "id": 1}]}`,
		},
		"R159 references and selectors are passed over": {
			desired: `{"vRef": {"name": "a", "policy": {"resolve": "Always"}}, "vRefs": [{"name": "a"}],
				"vSelector": {"matchLabels": {"a": "b"}, "matchControllerRef": true}}`,
			observed: `{}`,
		},
		"R159 a vendor's field may have such a name": {
			desired:  `{"gitRef": "main", "gitRefs": [], "podSelector": {"app": "x"}}`,
			observed: `{"gitRefs": ["main"]}`,
			want: []parameters.Difference{{Path: "gitRef", Desired: `"main"`, Observed: "null"},
				{Path: "gitRefs", Desired: "[]", Observed: `["main"]`}, {Path: "podSelector.app", Desired: `"x"`, Observed: "null"}},
		},
		"P60 secret references are passed over": {desired: `{"pSecretRef": {"name": "a", "key": "b", "namespace": "c"}}`, observed: `{}`},
		"P81 all differences, sorted": {
			desired: `{"b": 1, "a": {"z": 1, "y": 1}, "c": 1}`, observed: `{"c": 1}`,
			want: []parameters.Difference{{Path: "a.y", Desired: "1", Observed: "null"},
				{Path: "a.z", Desired: "1", Observed: "null"}, {Path: "b", Desired: "1", Observed: "null"}},
		},
		"P81 long values are cut at 128 characters": {
			desired: `{"a": "` + strings.Repeat("ä", 200) + `"}`, observed: `{}`,
			want: differ("a", `"`+strings.Repeat("ä", 126)+"…", "null"),
		},
	})
}

func TestEquality(t *testing.T) {
	t.Parallel()
	runDifferences(t, map[string]differencesCase{
		"R137 numbers by value":    {desired: `{"a": 1, "b": [2.0], "c": 3.5}`, observed: `{"a": 1.0, "b": [2], "c": 3.5}`},
		"R137 numbers that differ": {desired: `{"a": 1}`, observed: `{"a": 1.5}`, want: differ("a", "1", "1.5")},
		"R137 numbers beyond a float": {
			desired:  `{"a": 9007199254740993}`,
			observed: `{"a": 9007199254740992.0}`,
			want:     differ("a", "9007199254740993", "9007199254740992"),
		},
		"R137 a number is no text":         {desired: `{"a": 1}`, observed: `{"a": "1"}`, want: differ("a", "1", `"1"`)},
		"R155 empty is absent":             {desired: `{"a": [], "b": {}, "c": ""}`, observed: `{}`},
		"R155 empty is as good as another": {desired: `{"a": []}`, observed: `{"a": null}`},
		"R137 sets have no order": {
			desired: `{"a": ["x", "y"], "b": [{"n": 1}, {"n": 2}]}`, observed: `{"a": ["y", "x"], "b": [{"n": 2, "d": 0}, {"n": 1}]}`,
			options: options(parameters.AsSet("a", "b")),
		},
		"R137 sets show what differs": {
			desired: `{"a": ["x", "y", "y"]}`, observed: `{"a": ["y", "z", "x"]}`, options: options(parameters.AsSet("a")),
			want: differ("a", `["y"]`, `["z"]`),
		},
		"R137 a vague element leaves the precise one its partner": {
			desired: `{"a": [{"x": 1}, {"y": 2}]}`, observed: `{"a": [{"x": 1, "y": 2}, {"x": 1}]}`, options: options(parameters.AsSet("a")),
		},
		"R137 too many in a set": {
			desired: `{"a": ["x"]}`, observed: `{"a": ["y", "x"]}`, options: options(parameters.AsSet("a")), want: differ("a", "[]", `["y"]`),
		},
		"R137 lists that may have more": {
			desired: `{"a": ["x"], "b": [{"n": 1}], "c": ["x"]}`, observed: `{"a": ["y", "x"], "b": [{"n": 1}, {"n": 2}], "c": ["x", "y"]}`,
			options: options(parameters.AsSet("a"), parameters.AllowExtra("a", "b", "c")),
		},
		"R137 case": {
			desired:  `{"a": "X", "b": ["Y"]}`,
			observed: `{"a": "x", "b": ["y"]}`,
			options:  options(parameters.IgnoreCase("a", "b")),
		},
		"R137 case matters": {desired: `{"a": "X"}`, observed: `{"a": "x"}`, want: differ("a", `"X"`, `"x"`)},
		"R137 JSON in a string": {
			desired: `{"p": "{\"a\": 1, \"b\": [2]}"}`, observed: `{"p": "{\"b\":[2],\"a\":1.0}"}`, options: options(parameters.JSONText("p")),
		},
		"R137 JSON in a string differs": {
			desired: `{"p": "{\"a\": 1}"}`, observed: `{"p": "{\"a\": 1, \"b\": 2}"}`, options: options(parameters.JSONText("p")),
			want: differ("p", `{"a":1}`, `{"a":1,"b":2}`),
		},
		"R137 ignored elements": {
			desired: `{"a": [{"x": 1}, {"x": 2}], "b": [{"x": 1}]}`, observed: `{"a": [{"x": 1}], "b": [{"x": 1}, {"x": 2}]}`,
			options: options(parameters.Ignore("a[1]", "b[1]")),
		},
		"R137 ignored fields": {
			desired: `{"a": 1, "l": [{"x": 1, "y": 1}, {"y": 1}], "n": {"o": 1}}`, observed: `{"l": [{"x": 2, "y": 2}, {"y": 2}]}`,
			options: options(parameters.Ignore("a", "l[*].x", "l[0].y", "n")), want: differ("l[1].y", "1", "2"),
		},
	})
}

func TestNothingSensitiveIsShown(t *testing.T) {
	t.Parallel()
	hidden := func(path string) []parameters.Difference { return differ(path, "(sensitive)", "(sensitive)") }
	runDifferences(t, map[string]differencesCase{
		"N8 by name": {
			desired:  `{"adminPassword": "s3cret"}`,
			observed: `{"adminPassword": "other"}`,
			want:     hidden("adminPassword"),
		},
		"N8 absent":       {desired: `{"api_key": "s3cret"}`, observed: `{}`, want: hidden("api_key")},
		"N8 below a name": {desired: `{"tokens": {"a": ["s3cret"]}}`, observed: `{}`, want: hidden("tokens.a")},
		"N8 key material": {desired: `{"keyMaterial": "s3cret"}`, observed: `{}`, want: hidden("keyMaterial")},
		"N8 by option": {
			desired:  `{"u": [{"pin": 1}]}`,
			observed: `{"u": [{"pin": 2}]}`,
			options:  options(parameters.Sensitive("u.pin")),
			want:     hidden("u[0].pin"),
		},
		"N8 below an option": {
			desired:  `{"u": [{"pin": 1}]}`,
			observed: `{"u": [{"pin": 2}]}`,
			options:  options(parameters.Sensitive("u")),
			want:     hidden("u[0].pin"),
		},
		"N8 by the map's key": {desired: `{"env": {"DB_PASSWORD": "s3cret"}}`, observed: `{}`, want: hidden("env.DB_PASSWORD")},
		"N8 by the name beside": {
			desired: `{"env": [{"name": "DB_PASSWORD", "value": "s3cret"}]}`, observed: `{"env": [{"name": "DB_PASSWORD", "value": "other"}]}`,
			want: hidden("env[0].value"),
		},
		"N8 by the name beside, observed": {
			desired: `{"env": [{"value": "x"}]}`, observed: `{"env": [{"name": "DB_PASSWORD", "value": "s3cret"}]}`, want: hidden("env[0].value"),
		},
		"N8 in an element that is gone": {
			desired: `{"u": [{"name": "a", "password": "s3cret"}]}`, observed: `{}`,
			want: differ("u[0]", `{"name":"a","password":"(sensitive)"}`, "null"),
		},
		"N8 in an element of a set": {
			desired: `{"u": [{"name": "a"}]}`, observed: `{"u": [{"name": "b", "password": "s3cret"}]}`, options: options(parameters.AsSet("u")),
			want: differ("u", `[{"name":"a"}]`, `[{"name":"b","password":"(sensitive)"}]`),
		},
		"N8 in another shape": {
			desired:  `{"u": 1}`,
			observed: `{"u": {"password": "s3cret"}}`,
			want:     differ("u", "1", `{"password":"(sensitive)"}`),
		},
		"N8 in a JSON document": {
			desired: `{"p": "{\"password\": \"s3cret\", \"pin\": 1}"}`, observed: `{"p": "s3cret"}`,
			options: options(parameters.JSONText("p"), parameters.Sensitive("p.pin")),
			want:    differ("p", `{"password":"(sensitive)","pin":"(sensitive)"}`, `"(not JSON)"`),
		},
	})
}

func TestManyDifferences(t *testing.T) {
	t.Parallel()
	desired := map[string]any{}
	for i := range 50 {
		desired[fmt.Sprintf("field%02d", i)] = int64(i)
	}
	got := parameters.Differences(desired, nil)
	if len(got) != 33 || got[31].Path != "field31" {
		t.Fatalf("P81 %d differences instead of 33: %v", len(got), got)
	}
	if diff := cmp.Diff(parameters.Difference{Path: "and 18 more"}, got[32]); diff != "" {
		t.Errorf("P81 -want +got:\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	desired := nodeGroup{Region: "eu", Scaling: []scaling{{Max: new(int64(4))}}}
	observed := nodeGroup{Region: "EU", Zone: new("eu-1"), Scaling: []scaling{{Max: new(int64(5))}, {Max: new(int64(6))}}}
	got, err := parameters.Compare(desired, observed, parameters.IgnoreCase("region"),
		parameters.InitProvider(nodeGroup{Scaling: []scaling{{}, {Max: new(int64(1))}}}))
	if diff := cmp.Diff(differ("scalingConfig[0].maxSize", "4", "5"), got); diff != "" || err != nil {
		t.Errorf("R137 R143 error %v, -want +got:\n%s", err, diff)
	}
}
