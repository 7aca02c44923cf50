// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// FuzzProperties holds what is true of any two trees. The seeds alone, in every test run, are 500 random pairs.
func FuzzProperties(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		f.Add(text(f, randomObject(random, 3)), text(f, randomObject(random, 3)))
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		x, y := map[string]any{}, map[string]any{}
		if utiljson.Unmarshal([]byte(first), &x) != nil || utiljson.Unmarshal([]byte(second), &y) != nil {
			return
		}
		before := text(t, x) + text(t, y)
		checkOverlay(t, x, y)
		checkFill(t, x, y)
		checkDifferences(t, x, y)
		if after := text(t, x) + text(t, y); after != before {
			t.Errorf("arguments changed from %s to %s", before, after)
		}
	})
}

func checkOverlay(t *testing.T, x, y map[string]any) {
	t.Helper()
	if diff := cmp.Diff(x, parameters.Overlay(x, nil)); diff != "" {
		t.Errorf("laid over nothing (R141) -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(x, parameters.Overlay(nil, x)); diff != "" {
		t.Errorf("laid under nothing (R141) -want +got:\n%s", diff)
	}
	union := parameters.Overlay(x, y)
	if left := lost(x, union); left != "" {
		t.Errorf("%s is not in the union: %s (R142)", left, text(t, union))
	}
	vandalize(union)
}

func checkFill(t *testing.T, x, y map[string]any) {
	t.Helper()
	filled, fields := rules{}.Fill(x, y, nil)
	if left := lost(x, filled); left != "" {
		t.Errorf("%s changed: %s (R149)", left, text(t, filled))
	}
	if changed := !cmp.Equal(x, filled); changed != (len(fields) > 0) {
		t.Errorf("changed is %t, but fields are %v (R150)", changed, fields)
	}
	if again, more := (rules{}).Fill(filled, y, nil); len(more) > 0 {
		t.Errorf("a second time fills %v: %s (R150)", more, text(t, again))
	}
	vandalize(filled)
	if _, fields := (rules{}).Fill(x, y, y); len(fields) > 0 {
		t.Errorf("%v filled although initProvider sets all (R146)", fields)
	}
}

func checkDifferences(t *testing.T, x, y map[string]any) {
	t.Helper()
	for _, rules := range []rules{{}, {Sets: []string{"a", "b", "c"}}, {JSON: []string{"a", "b"}}} {
		if found := rules.Differences(x, x, nil); len(found) > 0 {
			t.Errorf("a tree differs from itself: %v (R137)", found)
		}
		first := rules.Differences(x, y, nil)
		if diff := cmp.Diff(first, rules.Differences(x, y, nil)); diff != "" {
			t.Errorf("two comparisons disagree (P81):\n%s", diff)
		}
	}
}

// lost returns what is set in one tree and has another value, or none, in the other; empty if nothing is lost.
func lost(from, in any) string {
	switch f := from.(type) {
	case nil:
		return ""
	case string:
		if f == "" {
			return ""
		}
	case map[string]any:
		i, _ := in.(map[string]any)
		for name, field := range f {
			if left := lost(field, i[name]); left != "" {
				return name + "." + left
			}
		}
		return ""
	case []any:
		i, _ := in.([]any)
		for n := range f {
			if n >= len(i) {
				return fmt.Sprintf("[%d]", n)
			}
			if left := lost(f[n], i[n]); left != "" {
				return fmt.Sprintf("[%d].%s", n, left)
			}
		}
		return ""
	}
	if cmp.Equal(from, in) {
		return ""
	}
	return fmt.Sprint(from)
}

// vandalize changes everything in a result, to see whether it shares anything with an argument.
func vandalize(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			vandalize(field)
			v[name] = "vandalized"
		}
	case []any:
		for i, element := range v {
			vandalize(element)
			v[i] = "vandalized"
		}
	}
}

func randomObject(random *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range random.IntN(4) {
		object[string(rune('a'+random.IntN(4)))] = randomValue(random, depth-1)
	}
	return object
}

func randomValue(random *rand.Rand, depth int) any {
	kind := random.IntN(9)
	if depth <= 0 {
		kind = random.IntN(6)
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return random.IntN(3)
	case 3:
		return []string{"", "x", "y", `{"a": 1}`}[random.IntN(4)]
	case 4:
		return []any{}
	case 5:
		return []any{random.IntN(3), "x"}
	case 6:
		return randomObject(random, depth)
	default:
		return []any{randomObject(random, depth), randomObject(random, depth)}
	}
}

func text(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func BenchmarkDifferences(b *testing.B) {
	desired, observed := thirtyFields(), thirtyFields()
	observed["field07"] = "another"
	rules := rules{Sets: []string{"zones"}, Ignored: []string{"field01"}, Sensitive: []string{"field02"}}
	for name, other := range map[string]map[string]any{"Equal": desired, "OneDifference": observed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Differences(desired, other, nil)
			}
		})
	}
}

func thirtyFields() map[string]any {
	tree := map[string]any{
		"zones":         []any{"a", "b", "c"},
		"tags":          map[string]any{"team": "a", "cost": "7", "example.org/env": "prod"},
		"scalingConfig": []any{map[string]any{"desiredSize": int64(1), "maxSize": int64(4), "minSize": int64(1)}},
	}
	for i := range 21 {
		tree[fmt.Sprintf("field%02d", i)] = fmt.Sprintf("value %d", i)
	}
	return tree
}
