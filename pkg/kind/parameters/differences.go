// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"fmt"
	"math"
	"slices"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// maxDifferences limits the differences in a status.
const maxDifferences = 32

// A Difference is a field whose observed value is not the desired one. Both values are compact JSON of at most 128
// characters, null if the field is absent and (sensitive) if it may be a secret (P81, N8).
type Difference = xpv1.FieldDifference

// Compare is Differences for Go structs: desired is usually spec.forProvider, observed what the vendor returned.
func Compare[P any](desired, observed P, options ...Option) ([]Difference, error) {
	s, ours, theirs, err := trees(desired, observed, options)
	if err != nil {
		return nil, err
	}
	return s.differences(ours, theirs), nil
}

// Differences returns the fields that desired sets and whose observed values differ, sorted by path: the first 32, and one
// whose path is the number of the others. None means up to date.
//
// Fields that desired leaves out are not compared (R143). Numbers are equal by value, and an empty list, object or string
// equals an absent one. Lists are enforced as a whole (R137): lists of objects are compared by element, and extra elements
// are a difference unless AllowExtra or InitProvider covers them or they are ownership labels (P15). For a list compared
// AsSet only the elements that one side lacks are shown. References, selectors and Secret references are skipped (R159, P60).
func Differences(desired, observed map[string]any, options ...Option) []Difference {
	return newSettings(options).differences(desired, observed)
}

// AllDifferences is Differences without a limit.
func AllDifferences(desired, observed map[string]any, options ...Option) []Difference {
	return newSettings(options).all(desired, observed)
}

// Shorten applies the limit of Differences.
func Shorten(all []Difference) []Difference {
	if len(all) <= maxDifferences {
		return all
	}
	return append(slices.Clone(all[:maxDifferences]), Difference{Path: fmt.Sprintf("and %d more", len(all)-maxDifferences)})
}

func (s *settings) differences(desired, observed map[string]any) []Difference {
	return Shorten(s.all(desired, observed))
}

func (s *settings) all(desired, observed map[string]any) []Difference {
	var found []Difference
	c := comparison{settings: s, differ: func(at path, d, o any, hidden bool) {
		found = append(found, Difference{Path: at.exact, Desired: s.render(at, d, hidden), Observed: s.render(at, o, hidden)})
	}}
	c.objects(path{}, desired, observed, object(s.initial), false)
	return found
}

// A comparison walks the desired tree and calls differ for each difference. Its methods take the value of initProvider at
// the same path as initial; hidden is true below a sensitive field.
type comparison struct {
	*settings
	differ func(at path, desired, observed any, hidden bool)
}

// matches is true if a comparison finds no difference.
func (s *settings) matches(at path, desired, observed, initial any) bool {
	equal := true
	comparison{settings: s, differ: func(path, any, any, bool) { equal = false }}.values(at, desired, observed, initial, false)
	return equal
}

func (c comparison) objects(at path, desired, observed, initial map[string]any, hidden bool) {
	for _, name := range names(desired) {
		if isReferenceField(name, desired[name]) || c.same(at.field(name), desired[name], observed[name]) {
			continue // fast path for most fields
		}
		secret := hidden || isSensitive(name, desired) || isSensitive(name, observed)
		c.values(at.field(name), desired[name], observed[name], initial[name], secret)
	}
}

func (c comparison) values(at path, desired, observed, initial any, hidden bool) {
	if desired == nil || isEmpty(desired) && isEmpty(observed) || c.ignored.has(at) {
		return
	}
	hidden = hidden || c.sensitive.has(at)
	switch d := desired.(type) {
	case map[string]any:
		if o, ok := observed.(map[string]any); ok || observed == nil {
			c.objects(at, d, o, object(initial), hidden)
			return
		}
	case []any:
		if o, ok := observed.([]any); ok || observed == nil {
			c.lists(at, d, o, list(initial), hidden)
			return
		}
	}
	if !c.same(at, desired, observed) {
		c.differ(at, desired, observed, hidden)
	}
}

func (c comparison) lists(at path, desired, observed, initial []any, hidden bool) {
	if !slices.ContainsFunc(desired, isOwnershipTag) {
		observed = withoutOwnership(observed)
	}
	length := max(len(desired), len(observed))
	extra := 0 // number of observed elements that need not be desired
	switch {
	case c.open.has(at):
		extra = math.MaxInt
	case areObjects(desired): // no other list takes elements from initProvider (R141)
		extra = max(0, len(initial)-len(desired))
	}
	switch {
	case c.sets.has(at):
		missing, surplus := c.unmatched(at, desired, observed)
		if len(missing) > 0 || len(surplus) > extra {
			c.differ(at, missing, surplus, hidden)
		}
	case areObjects(desired):
		for i := range length {
			c.elements(at.index(i), desired, observed, initial, i, extra, hidden)
		}
	default:
		if length-len(desired) > extra || !c.startsWith(at, observed, desired) {
			c.differ(at, desired, observed, hidden)
		}
	}
}

// elements compares the elements at one index. An element that one side lacks is one difference.
func (c comparison) elements(at path, desired, observed, initial []any, i, extra int, hidden bool) {
	switch {
	case i < len(desired) && i < len(observed):
		c.values(at, desired[i], observed[i], element(initial, i), hidden)
	case i < len(desired) || i-len(desired) >= extra:
		if !c.ignored.has(at) {
			c.differ(at, element(desired, i), element(observed, i), hidden)
		}
	}
}

func (c comparison) startsWith(at path, list, start []any) bool {
	for i := range start {
		if i >= len(list) || !c.matches(at.index(i), start[i], list[i], nil) {
			return false
		}
	}
	return true
}

// unmatched returns the elements without a partner in a maximum matching of two lists. A desired element may match several
// observed ones, since it may leave fields out; place finds augmenting paths of the bipartite graph.
func (c comparison) unmatched(at path, desired, observed []any) (missing, surplus []any) {
	missing, surplus = []any{}, []any{}
	takers := make(map[int]int, len(observed))
	candidates := make([][]int, len(desired))
	var place func(i int, visited map[int]bool) bool
	place = func(i int, visited map[int]bool) bool {
		for _, j := range candidates[i] {
			if visited[j] {
				continue
			}
			visited[j] = true
			if taker, taken := takers[j]; !taken || place(taker, visited) {
				takers[j] = i
				return true
			}
		}
		return false
	}
	for i := range desired {
		for j := range observed {
			if c.matches(at.index(i), desired[i], observed[j], nil) {
				candidates[i] = append(candidates[i], j)
			}
		}
		if !place(i, map[int]bool{}) {
			missing = append(missing, desired[i])
		}
	}
	for j := range observed {
		if _, taken := takers[j]; !taken {
			surplus = append(surplus, observed[j])
		}
	}
	return missing, surplus
}
