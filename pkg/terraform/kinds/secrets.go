// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// HasSecrets is true for a block whose states may have secrets.
func HasSecrets(b *schema.Block) bool {
	return shapeOfBlock(b).has(func(f field) bool { return f.secret && !f.writeOnly })
}

// has is true if an object has a field, at any depth.
func (s shape) has(is func(field) bool) bool {
	switch {
	case s.item != nil:
		return s.item.has(is)
	case s.form != object:
		return false
	}
	for _, f := range s.fields() {
		if is(f) || f.has(is) {
			return true
		}
	}
	return false
}

// MissingSecrets returns the fields for secrets of the provider that a state has no value of, such as a generated password that only the
// answer to a creation had. What the object declares itself is not missing.
func MissingSecrets(b *schema.Block, state cty.Value, declared map[string]any) (missing []string) {
	shapeOfBlock(b).missing("", state, declared, func(at string) { missing = append(missing, at) })
	return missing
}

func (s shape) missing(at string, v cty.Value, declared map[string]any, report func(at string)) {
	if v.IsNull() || !v.IsKnown() {
		return
	}
	if s.item != nil {
		for key, value := range v.Elements() {
			s.item.missing(at+index(s, key), value, nil, report)
		}
		return
	}
	if s.form != object {
		return
	}
	for _, f := range s.fields() {
		value, at := v.GetAttr(f.attribute), Child(at, f.plainName())
		within, _ := declared[f.name].(map[string]any)
		switch {
		case !f.secret && !(f.computed && hasNoItems(value) && f.has(generated)):
			f.missing(at, value, within, report)
		case (!f.secret || generated(f)) && declared[f.name] == nil && !hasText(f.shape, value):
			report(at)
		}
	}
}

// generated is true for secrets of the provider that its states have.
func generated(f field) bool { return f.secret && f.computed && !f.writeOnly }

// hasNoItems is true for what is null, and for a collection without items.
func hasNoItems(v cty.Value) bool {
	return v.IsNull() || v.IsKnown() && v.CanIterateElements() && v.LengthInt() == 0
}

// hasText is true for a value of which the connection Secret would have something.
func hasText(s shape, v cty.Value) (has bool) {
	eachText(s, v, "", true, func(_, text string, _ bool) { has = has || text != "" })
	return has
}
