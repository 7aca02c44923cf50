// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

const maxDifferences = 32

// A Difference is a field whose observed value is not the desired one. Both values are compact JSON of at most 128
// characters, null if the field is absent and (sensitive) if it may be a secret (P81, N8).
type Difference = xpv1.FieldDifference

// Differences returns the fields that desired sets and whose observed values differ, sorted by path. None means up to date.
//
// Fields that desired leaves out are not compared (R143). Numbers are equal by value, and an empty list, object or string
// equals an absent one. Lists are enforced as a whole: lists of objects are compared by element, and extra elements are a
// difference unless Extra or initial, the tree of spec.initProvider, covers them or they are ownership labels (R137, P15). For
// Sets only the elements that one side lacks are shown. References, selectors and Secret references are skipped (R159, P60).
func (r Rules) Differences(desired, observed, initial map[string]any) []Difference {
	found, _ := r.differences(desired, observed, initial)
	return found
}

// Hides is true if Differences leaves out a value or a part of one, which may be secret or is too long.
func (r Rules) Hides(desired, observed map[string]any) bool {
	_, hides := r.differences(desired, observed, nil)
	return hides
}

func (r *Rules) differences(desired, observed, initial map[string]any) (found []Difference, hides bool) {
	show := renderer{Rules: *r, hides: &hides}
	c := comparison{Rules: r, differ: func(at path, d, o any, hidden bool) {
		found = append(found, Difference{Path: at.exact, Desired: show.render(at, d, hidden), Observed: show.render(at, o, hidden)})
	}}
	c.objects(path{}, desired, observed, initial, false)
	return found, hides
}

// Shorten returns the first 32 differences, and one whose path is the number of the others.
func Shorten(all []Difference) []Difference {
	if len(all) <= maxDifferences {
		return all
	}
	return append(slices.Clone(all[:maxDifferences]), Difference{Path: fmt.Sprintf("and %d more", len(all)-maxDifferences)})
}

// A comparison calls differ for each difference. initial is the value of initProvider at the same path, hidden is below a secret.
type comparison struct {
	*Rules
	differ func(at path, desired, observed any, hidden bool)
}

func (r *Rules) matches(at path, desired, observed, initial any) bool {
	equal := true
	comparison{Rules: r, differ: func(path, any, any, bool) { equal = false }}.values(at, desired, observed, initial, false)
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
	if desired == nil || isEmpty(desired) && isEmpty(observed) || c.ignores(at) {
		return
	}
	hidden = hidden || at.in(c.Sensitive)
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
	case at.in(c.Extra):
		extra = math.MaxInt
	case areObjects(desired): // no other list takes elements from initProvider (R141)
		extra = max(0, len(initial)-len(desired))
	}
	switch {
	case at.in(c.Sets):
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
		if !c.ignores(at) {
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

// unmatched returns what a maximum matching leaves over, since a desired element with few fields may match several observed ones.
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

// same is true for equal values. Objects and lists for which it is false are compared field by field.
func (r *Rules) same(at path, desired, observed any) bool {
	d, isText := desired.(string)
	o, both := observed.(string)
	if isText && both {
		return d == o || at.in(r.IgnoreCase) && strings.EqualFold(d, o) || at.in(r.JSON) && sameDocument(d, o)
	}
	if x, y := number(desired), number(observed); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(desired, observed)
}

func sameDocument(a, b string) bool {
	x, aIsJSON := document(a)
	y, bIsJSON := document(b)
	return aIsJSON && bIsJSON && reflect.DeepEqual(x, y)
}

func document(text string) (value any, ok bool) {
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}

// number returns nil if the value is not a number. Trees may hold any numeric type.
func number(value any) *big.Float {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return new(big.Float).SetInt64(v.Int())
	case v.CanUint():
		return new(big.Float).SetUint64(v.Uint())
	case v.CanFloat() && !math.IsNaN(v.Float()):
		return new(big.Float).SetFloat64(v.Float())
	}
	return nil
}

const (
	sensitive       = "(sensitive)"
	maxRenderedSize = 128 // characters
)

// A renderer sets hides where it leaves out something.
type renderer struct {
	Rules
	hides *bool
}

func (r renderer) render(at path, value any, hidden bool) string {
	value = r.redact(at, value, hidden)
	if value == sensitive {
		return sensitive
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		*r.hides = true
		return "(not JSON)"
	}
	characters := []rune(strings.TrimSpace(text.String()))
	if len(characters) > maxRenderedSize {
		*r.hides = true
		characters = append(characters[:maxRenderedSize-1], '…')
	}
	return string(characters)
}

func (r renderer) redact(at path, value any, hidden bool) any {
	if hidden || at.in(r.Sensitive) {
		*r.hides = true
		return sensitive
	}
	switch v := value.(type) {
	case map[string]any:
		redacted := make(map[string]any, len(v))
		for name, field := range v {
			redacted[name] = r.redact(at.field(name), field, isSensitive(name, v))
		}
		return redacted
	case []any:
		redacted := make([]any, len(v))
		for i, element := range v {
			redacted[i] = r.redact(at.index(i), element, false)
		}
		return redacted
	case string:
		if at.in(r.JSON) {
			parsed, ok := document(v)
			if !ok {
				*r.hides = true
				return "(not JSON)" // it may contain secrets that cannot be found
			}
			r.JSON = nil
			return r.redact(at, parsed, false)
		}
	}
	return value
}

// isSensitive guesses by names whether a field is a secret. In {name: DB_PASSWORD, value: x} the value is.
func isSensitive(field string, in map[string]any) bool {
	if strings.EqualFold(field, "value") {
		for _, label := range []string{"name", "key"} {
			if text, ok := in[label].(string); ok && isSensitiveName(text) {
				return true
			}
		}
	}
	return isSensitiveName(field)
}

func isSensitiveName(name string) bool {
	name = plain(name)
	return slices.ContainsFunc(sensitiveWords(), func(word string) bool { return strings.Contains(name, word) })
}

// sensitiveWords err on the side of hiding too much.
func sensitiveWords() []string {
	return []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "authorization",
		"keymaterial", "privatekey", "apikey", "accesskey", "accountkey", "encryptionkey", "sharedkey", "signingkey",
		"connectionstring", "kubeconfig",
	}
}
