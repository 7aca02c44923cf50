// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
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

type rules = parameters.Rules

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

type fillCase struct {
	spec, observed, initial string
	rules                   rules
	want                    string
	filled                  []string
}

func runFill(t *testing.T, cases map[string]fillCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, filled := tc.rules.Fill(tree(t, tc.spec), tree(t, tc.observed), tree(t, tc.initial))
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
			rules: rules{Sets: []string{"s"}},
		},
		"an absent set is filled (R149)": {
			spec: `{}`, observed: `{"s": [{"max": 4}]}`, want: `{"s": [{"max": 4}]}`, filled: []string{"s[0].max"},
			rules: rules{Sets: []string{"s"}},
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
			observed: `{"tags": {"crossplane-kind": "k", "crossplane-name": "n", "crossplane-provider": "p", "bowline-uid": "u",
				"bowline-namespace": "s"},
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
			rules: rules{Ignored: []string{"a", "n", "s[*].id"}},
			want:  `{"b": 1, "n": {"x": 1}, "s": [{"x": 1}]}`, filled: []string{"b", "s[0].x"},
		},
		"what only users choose is not filled (R149)": {
			spec: `{"n": {"x": 1}}`, observed: `{"owner": "o", "n": {"a": 1}, "s": 1}`,
			rules: rules{Chosen: []string{"owner", "n"}},
			want:  `{"n": {"x": 1}, "s": 1}`, filled: []string{"s"},
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

// A nodeGroup has the shapes that Go types of parameters have.
type nodeGroup struct {
	Region  string `json:"region,omitempty"`
	Public  *bool  `json:"public,omitempty"`
	Weight  *int64 `json:"weight,omitempty"`
	Scaling []struct {
		Max *int64 `json:"maxSize,omitempty"`
	} `json:"scalingConfig,omitempty"`
	Extra any `json:"extra,omitempty"`
}

func TestTreesOfGoTypes(t *testing.T) {
	t.Parallel()
	full := nodeGroup{Region: "eu", Public: new(false), Weight: new(int64(math.MaxInt64 - 1))} // does not fit a float64
	for name, tc := range map[string]struct {
		typed any
		want  map[string]any
		fails bool
	}{
		"zero values behind pointers are set (R147, R155)": {
			typed: full, want: map[string]any{"region": "eu", "public": false, "weight": int64(math.MaxInt64 - 1)},
		},
		"a pointer will do (R141)":            {typed: &nodeGroup{Region: "eu"}, want: map[string]any{"region": "eu"}},
		"no initProvider (R138)":              {},
		"no initProvider by a pointer (R138)": {typed: (*nodeGroup)(nil)},
		"a channel has no JSON form (R141)":   {typed: nodeGroup{Extra: make(chan int)}, fails: true},
		"a text is no object (R141)":          {typed: "eu", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parameters.Tree(tc.typed)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
	tree, err := parameters.Tree(full)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := parameters.Typed[nodeGroup](tree)
	if diff := cmp.Diff(full, typed); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	if _, err := parameters.Typed[nodeGroup](map[string]any{"weight": "heavy"}); err == nil {
		t.Error("Typed accepts a text as a number")
	}
}

// Overlay and Fill copy as unstructured objects are copied, which panics for all numbers but int64 and float64.
func TestNumbersOfGoTypes(t *testing.T) {
	t.Parallel()
	type port uint16
	type nested struct {
		Port  port     `json:"port"`
		Ports []*int32 `json:"ports"`
		Unset *uint    `json:"unset"`
	}
	for name, tc := range map[string]struct{ value, want any }{
		"uint32":       {uint32(7), int64(7)},
		"float32":      {float32(0.5), 0.5},
		"named type":   {port(80), int64(80)},
		"pointer":      {new(int(-1)), int64(-1)},
		"nil pointer":  {(*uint8)(nil), nil},
		"beyond int64": {uint64(math.MaxUint64), float64(math.MaxUint64)},
		"map":          {map[string]int8{"a": 1}, map[string]any{"a": int64(1)}},
		"untyped list": {[]any{1, uint(2), nil}, []any{int64(1), int64(2), nil}},
		"nested": {
			&nested{80, []*int32{new(int32(1)), nil}, nil},
			map[string]any{"port": int64(80), "ports": []any{int64(1), nil}, "unset": nil},
		},
		"list of structs": {[]struct{ A uint }{{1}}, []any{map[string]any{"A": int64(1)}}},
	} {
		for _, typed := range []any{nodeGroup{Extra: tc.value}, map[string]any{"extra": tc.value}} {
			tree, err := parameters.Tree(typed)
			if diff := cmp.Diff(tc.want, tree["extra"]); diff != "" || err != nil {
				t.Errorf("%s in a %T (R141): error %v, -want +got:\n%s", name, typed, err, diff)
			}
			parameters.Overlay(tree, nil)
			parameters.Overlay(nil, tree)
			parameters.Overlay(tree, tree)
			rules{}.Fill(tree, tree, tree)
			rules{}.Fill(nil, tree, nil)
		}
	}
}

func TestSecretReferences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tree string
		want map[string]xpv1.SecretKeySelector
	}{
		"at any depth (P60)": {
			tree: `{"passwordSecretRef": {"name": "a", "namespace": "n", "key": "k"},
				"users": [{"x": 1}, {"tls": {"certSecretRef": {"name": "b", "key": "k"}}}]}`,
			want: map[string]xpv1.SecretKeySelector{
				"passwordSecretRef":          {Name: "a", Namespace: "n", Key: "k"},
				"users[1].tls.certSecretRef": {Name: "b", Key: "k"},
			},
		},
		"other names and shapes (P60)": {
			tree: `{"secret": {"name": "a", "key": "k"}, "aSecretRef": {"name": "a"}, "bSecretRef": "b",
				"cSecretRef": {"name": "a", "key": "k", "extra": 1}, "dRef": {"name": "a", "key": "k"}}`,
			want: map[string]xpv1.SecretKeySelector{},
		},
		"none (P60)": {want: map[string]xpv1.SecretKeySelector{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, parameters.SecretReferences(tree(t, tc.tree))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFillDefaults(t *testing.T) {
	t.Parallel()
	values := rules{Defaults: map[string]string{
		"size": "30", "ratio": "0.5", "public": "true", "tier": `"basic"`, "net.mtu": "1500", "retries": "0",
	}}
	objects := rules{Defaults: map[string]string{"scaling.max": "9", "scaling": `{"min": 1}`}}
	for name, tc := range map[string]struct {
		rules                 rules
		answer, desired, want string
		nullable              []string
	}{
		"a default stands for what is absent (R143)": {rules: values, answer: `{}`,
			want: `{"size": 30.0, "ratio": 0.5, "public": true, "tier": "basic", "net": {"mtu": 1500.0}, "retries": 0.0}`},
		"a default stands for zero (R143)": {rules: values,
			answer: `{"size": 0, "ratio": 0.0, "public": false, "tier": "", "net": {"mtu": 0}, "retries": 0}`,
			want:   `{"size": 30.0, "ratio": 0.5, "public": true, "tier": "basic", "net": {"mtu": 1500.0}, "retries": 0.0}`},
		"an answer stays (R143)": {rules: values,
			answer: `{"size": 1, "ratio": 2.5, "public": true, "tier": "large", "net": {"mtu": 9000}, "retries": 3}`,
			want:   `{"size": 1, "ratio": 2.5, "public": true, "tier": "large", "net": {"mtu": 9000}, "retries": 3}`},
		"zero stays where the user asks for it (R143)": {rules: values,
			answer:  `{"size": 0, "public": false, "tier": "", "net": {"mtu": 0}, "retries": 0}`,
			desired: `{"size": 0, "ratio": 0.0, "public": false, "tier": "", "net": {"mtu": 0}, "retries": 3}`,
			want:    `{"size": 0, "ratio": 0.5, "public": false, "tier": "", "net": {"mtu": 0}, "retries": 0.0}`},
		"zero stays where there is no default (R143)": {rules: values,
			answer: `{"size": 1, "ratio": 2.5, "public": true, "tier": "a", "net": {"mtu": 1, "nat": false}, "retries": 1, "weight": 0}`,
			want:   `{"size": 1, "ratio": 2.5, "public": true, "tier": "a", "net": {"mtu": 1, "nat": false}, "retries": 1, "weight": 0}`},
		"zero stays where the client distinguishes it (R137)": {rules: values, nullable: []string{"size", "public", "tier", "net.mtu"},
			answer: `{"size": 0, "public": false, "tier": "", "net": {"mtu": 0}, "retries": 0}`,
			want:   `{"size": 0, "ratio": 0.5, "public": false, "tier": "basic", "net": {"mtu": 0}, "retries": 0.0}`},
		"an object for what is absent (R143)":   {rules: objects, answer: `{}`, want: `{"scaling": {"min": 1.0, "max": 9.0}}`},
		"an object for zero in a field (R143)":  {rules: objects, answer: `{"scaling": {"min": 0}}`, want: `{"scaling": {"min": 1.0, "max": 9.0}}`},
		"an object beside another field (R143)": {rules: objects, answer: `{"scaling": {"min": 0, "max": 3}}`, want: `{"scaling": {"min": 1.0, "max": 3}}`},
		"an answer in an object stays (R143)":   {rules: objects, answer: `{"scaling": {"min": 2}}`, want: `{"scaling": {"min": 2, "max": 9.0}}`},
		"zero in an object that is desired (R143)": {rules: objects, answer: `{"scaling": {"min": 0}}`, desired: `{"scaling": {"min": 0}}`,
			want: `{"scaling": {"min": 0, "max": 9.0}}`},
		"zero without default in an object (R143)": {rules: objects, answer: `{"scaling": {"step": 0}}`,
			want: `{"scaling": {"min": 1.0, "max": 9.0, "step": 0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defaults, err := tc.rules.DefaultTree()
			got := parameters.Overlay(parameters.WithoutUnset(tree(t, tc.answer), tree(t, tc.desired), defaults, tc.nullable...), defaults)
			if diff := cmp.Diff(tree(t, tc.want), got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
	if _, err := (rules{Defaults: map[string]string{"tier": "basic"}}).DefaultTree(); err == nil {
		t.Error("no error for a default that is not JSON (R143)")
	}
}

// What an external client does with the parameters of one kind.
func Example() {
	forProvider := map[string]any{"region": "eu", "versioned": false, "zones": []any{"b", "a"}}
	initProvider := map[string]any{"size": int64(10)}
	fmt.Println("create:", parameters.Overlay(forProvider, initProvider))

	// A user turned versions on, and the bucket has grown.
	observed := map[string]any{"region": "EU", "versioned": true, "zones": []any{"a", "b"}, "size": int64(30), "tier": "hot"}
	rules := parameters.Rules{IgnoreCase: []string{"region"}, Sets: []string{"zones"}}

	forProvider, filled := rules.Fill(forProvider, observed, initProvider)
	fmt.Println("late initialization:", filled, forProvider["tier"])
	fmt.Println("drift:", rules.Differences(forProvider, observed, initProvider))
	// Output:
	// create: map[region:eu size:10 versioned:false zones:[b a]]
	// late initialization: [tier] hot
	// drift: [{versioned false true}]
}
