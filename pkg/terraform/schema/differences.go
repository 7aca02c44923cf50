// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// A Difference is a place at which two values of a block's type differ. The value that only one of them has is null in the other.
type Difference struct {
	Path          cty.Path
	Before, After cty.Value
	Sensitive     bool // the place is in a sensitive attribute, or contains one
	Computed      bool // the place is in a computed attribute
}

// Differences returns the smallest places at which two values of the block's type differ, in the order of their names, attributes before
// blocks. A set is one place, and so is a value that is null or unknown on one side. A collection of blocks may be null or empty.
func (b *Block) Differences(before, after cty.Value) []Difference {
	var c comparison
	c.block(place{}, b, before, after)
	return c.found
}

type comparison struct{ found []Difference }

// A place is where a comparison is, with the flags of the attributes around it.
type place struct {
	path                cty.Path
	sensitive, computed bool
}

func (p place) in(step cty.PathStep) place {
	p.path = append(slices.Clip(p.path), step)
	return p
}

func (c *comparison) block(at place, b *Block, before, after cty.Value) {
	if !present(before) || !present(after) {
		c.whole(at, b.sensitive(), before, after)
		return
	}
	for _, a := range slices.SortedFunc(slices.Values(b.Attributes), func(x, y *Attribute) int { return cmp.Compare(x.Name, y.Name) }) {
		in := at.in(cty.GetAttrStep{Name: a.Name})
		in.sensitive, in.computed = in.sensitive || a.Sensitive, in.computed || a.Computed
		was, is := field(before, a.Name, a.ValueType), field(after, a.Name, a.ValueType)
		if a.Nested != nil {
			c.nested(in, a.asBlock(), was, is)
		} else {
			c.value(in, was, is)
		}
	}
	for _, n := range slices.SortedFunc(slices.Values(b.Blocks), func(x, y *NestedBlock) int { return cmp.Compare(x.Name, y.Name) }) {
		was, is := n.orEmpty(field(before, n.Name, n.valueType)), n.orEmpty(field(after, n.Name, n.valueType))
		c.nested(at.in(cty.GetAttrStep{Name: n.Name}), n, was, is)
	}
}

func (c *comparison) nested(at place, n *NestedBlock, before, after cty.Value) {
	switch {
	case n.Nesting.once():
		c.block(at, n.Block, before, after)
	case sameKind(before, after):
		c.items(at, n.Block.sensitive(), before, after, indexStep, func(at place, before, after cty.Value) { c.block(at, n.Block, before, after) })
	default:
		c.whole(at, n.Block.sensitive(), before, after)
	}
}

func (c *comparison) value(at place, before, after cty.Value) {
	step := indexStep
	if before.Type().IsObjectType() {
		step = func(key cty.Value) cty.PathStep { return cty.GetAttrStep{Name: key.AsString()} }
	}
	if sameKind(before, after) {
		c.items(at, false, before, after, step, c.value)
	} else {
		c.whole(at, false, before, after)
	}
}

func indexStep(key cty.Value) cty.PathStep { return cty.IndexStep{Key: key} }

// items compares two collections of one kind item by item.
func (c *comparison) items(at place, sensitive bool, before, after cty.Value, step func(key cty.Value) cty.PathStep,
	compare func(at place, before, after cty.Value)) {
	was, is := items(before), items(after)
	remaining := byKey(is)
	for _, item := range was {
		in := at.in(step(item.key))
		if other, ok := remaining[keyText(item.key)]; ok {
			compare(in, item.value, other)
			delete(remaining, keyText(item.key))
		} else {
			c.add(in, sensitive, item.value, cty.NullVal(item.value.Type()))
		}
	}
	for _, item := range is {
		if _, ok := remaining[keyText(item.key)]; ok {
			c.add(at.in(step(item.key)), sensitive, cty.NullVal(item.value.Type()), item.value)
		}
	}
}

// whole compares two values at one place.
func (c *comparison) whole(at place, sensitive bool, before, after cty.Value) {
	if bothNull := before.IsNull() && after.IsNull(); !bothNull && !before.RawEquals(after) {
		c.add(at, sensitive, before, after)
	}
}

func (c *comparison) add(at place, sensitive bool, before, after cty.Value) {
	c.found = append(c.found, Difference{at.path, before, after, at.sensitive || sensitive, at.computed})
}

func (b *Block) sensitive() bool {
	return slices.ContainsFunc(b.Attributes, func(a *Attribute) bool { return a.Sensitive || a.Nested != nil && a.asBlock().Block.sensitive() }) ||
		slices.ContainsFunc(b.Blocks, func(n *NestedBlock) bool { return n.Block.sensitive() })
}

func present(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

// sameKind reports whether two values are collections whose items can be compared one by one. The elements of sets have no place.
func sameKind(a, b cty.Value) bool {
	s, t := a.Type(), b.Type()
	return present(a) && present(b) && (s.IsObjectType() && t.IsObjectType() || s.IsMapType() && t.IsMapType() ||
		s.IsListType() && t.IsListType() || s.IsTupleType() && t.IsTupleType())
}

// Covers reports whether a difference is at, in or around one of the paths that require replacement.
func Covers(required []cty.Path, d Difference) bool {
	return slices.ContainsFunc(required, func(path cty.Path) bool {
		shared := min(len(path), len(d.Path))
		return slices.EqualFunc(path[:shared], d.Path[:shared], func(x, y cty.PathStep) bool { return stepText(x) == stepText(y) })
	})
}

// FormatPath returns a path as people write it, such as ingress[0].from_port or tags["a"]. An element of a set is [*]: its key is its value.
func FormatPath(path cty.Path) string {
	var text strings.Builder
	for i, step := range path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			if i > 0 {
				text.WriteByte('.')
			}
			text.WriteString(s.Name)
		case cty.IndexStep:
			key := keyText(s.Key)
			if present(s.Key) && s.Key.Type() == cty.String {
				key = strconv.Quote(key)
			}
			text.WriteString("[" + key + "]")
		}
	}
	return text.String()
}

// stepText returns a step's name or key. Providers name what is in a dynamic value by either.
func stepText(step cty.PathStep) string {
	switch s := step.(type) {
	case cty.GetAttrStep:
		return s.Name
	case cty.IndexStep:
		return keyText(s.Key)
	}
	return ""
}
