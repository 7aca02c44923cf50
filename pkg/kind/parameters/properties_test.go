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
	filled, fields := parameters.Fill(x, y)
	if left := lost(x, filled); left != "" {
		t.Errorf("%s changed: %s (R149)", left, text(t, filled))
	}
	if changed := !cmp.Equal(x, filled); changed != (len(fields) > 0) {
		t.Errorf("changed is %t, but fields are %v (R150)", changed, fields)
	}
	if again, more := parameters.Fill(filled, y); len(more) > 0 {
		t.Errorf("a second time fills %v: %s (R150)", more, text(t, again))
	}
	vandalize(filled)
	if _, fields := parameters.Fill(x, y, parameters.InitProvider(y)); len(fields) > 0 {
		t.Errorf("%v filled although initProvider sets all (R146)", fields)
	}
}

func checkDifferences(t *testing.T, x, y map[string]any) {
	t.Helper()
	for _, option := range []parameters.Option{parameters.Ignore(), parameters.AsSet("a", "b", "c"), parameters.JSONText("a", "b")} {
		if found := parameters.Differences(x, x, option); len(found) > 0 {
			t.Errorf("a tree differs from itself: %v (R137)", found)
		}
		first := parameters.Differences(x, y, option)
		if diff := cmp.Diff(first, parameters.Differences(x, y, option)); diff != "" {
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
