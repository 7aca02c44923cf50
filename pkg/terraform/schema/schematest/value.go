// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Options say what kind of value is wanted. The zero Options are of a state: known, and without write-only attributes.
type Options struct {
	Config  bool // a configuration: null where only the provider sets a value
	Unknown bool // parts may be unknown
}

// Value returns a value of a block. Values have few leaves that differ, so that two of them often have parts in common.
func Value(r *rand.Rand, b *schema.Block, o Options) cty.Value {
	return valuer{generator{r}, o}.block(b)
}

type valuer struct {
	generator
	Options
}

func (v valuer) block(b *schema.Block) cty.Value {
	values := v.attributes(b.Attributes)
	for _, n := range b.Blocks {
		values[n.Name] = v.nested(n, b.Type().AttributeType(n.Name))
	}
	return cty.ObjectVal(values)
}

func (v valuer) nested(n *schema.NestedBlock, t cty.Type) cty.Value {
	switch {
	case n.Nesting == schema.Group:
		return v.block(n.Block)
	case v.Unknown && v.one(15):
		return cty.UnknownVal(t)
	case n.Nesting == schema.Single && n.MinItems == 0 && v.one(3):
		return cty.NullVal(t)
	}
	most := 3
	if n.MaxItems > 0 {
		most = n.MaxItems
	}
	return v.collection(n.Nesting, t, n.MinItems, most, func() cty.Value { return v.block(n.Block) })
}

func (v valuer) attributes(of []*schema.Attribute) map[string]cty.Value {
	values := map[string]cty.Value{}
	for _, a := range of {
		values[a.Name] = v.attribute(a)
	}
	return values
}

func (v valuer) attribute(a *schema.Attribute) cty.Value {
	t := a.ValueType()
	switch {
	case v.Config && !a.Required && !a.Optional, !v.Config && a.WriteOnly, !a.Required && v.one(3):
		return cty.NullVal(t)
	case v.Unknown && v.one(10):
		return cty.UnknownVal(t)
	case a.Nested == nil:
		return v.ofType(t)
	}
	return v.collection(a.Nested.Nesting, t, 0, 3, func() cty.Value { return cty.ObjectVal(v.attributes(a.Nested.Attributes)) })
}

// collection returns a value of a nesting's type with the given number of items.
func (v valuer) collection(n schema.Nesting, t cty.Type, least, most int, item func() cty.Value) cty.Value {
	if n == schema.Single || n == schema.Group {
		return item()
	}
	var items []cty.Value
	named := map[string]cty.Value{}
	for i := range least + v.IntN(most-least+1) {
		items = append(items, item())
		named[fmt.Sprintf("key %d", 2*i+v.IntN(2))] = items[i]
	}
	switch {
	case t == cty.DynamicPseudoType && n == schema.List:
		return cty.TupleVal(items)
	case t == cty.DynamicPseudoType:
		return cty.ObjectVal(named)
	}
	return collectionOf(t, items, named)
}

func collectionOf(t cty.Type, items []cty.Value, named map[string]cty.Value) cty.Value {
	switch empty := len(items) == 0; {
	case t.IsListType() && empty:
		return cty.ListValEmpty(t.ElementType())
	case t.IsListType():
		return cty.ListVal(items)
	case t.IsSetType() && empty:
		return cty.SetValEmpty(t.ElementType())
	case t.IsSetType():
		return cty.SetVal(items)
	case empty:
		return cty.MapValEmpty(t.ElementType())
	}
	return cty.MapVal(named)
}

// ofType returns a value of a type, which is not null.
func (v valuer) ofType(t cty.Type) cty.Value {
	switch {
	case v.Unknown && v.one(15):
		return cty.UnknownVal(t)
	case t == cty.DynamicPseudoType:
		types := []cty.Type{cty.String, cty.Number, cty.Bool, cty.Tuple([]cty.Type{cty.String, cty.Bool}), cty.Object(map[string]cty.Type{"a": cty.Number})}
		return v.ofType(types[v.IntN(len(types))])
	case t == cty.String:
		return cty.StringVal([]string{"", "a", "b", "ü \"c\""}[v.IntN(4)])
	case t == cty.Number:
		return []cty.Value{cty.Zero, cty.NumberIntVal(-7), cty.NumberFloatVal(1.5), cty.MustParseNumberVal("9007199254740993")}[v.IntN(4)]
	case t == cty.Bool:
		return cty.BoolVal(v.one(2))
	case t.IsTupleType():
		var items []cty.Value
		for _, item := range t.TupleElementTypes() {
			items = append(items, v.ofType(item))
		}
		return cty.TupleVal(items)
	case t.IsObjectType():
		values := map[string]cty.Value{}
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			values[name] = v.ofType(t.AttributeType(name))
		}
		return cty.ObjectVal(values)
	}
	return v.elements(t)
}

func (v valuer) elements(t cty.Type) cty.Value {
	var items []cty.Value
	named := map[string]cty.Value{}
	for i := range v.IntN(4) {
		items = append(items, v.ofType(t.ElementType()))
		named[fmt.Sprintf("key_%d", i)] = items[i]
	}
	return collectionOf(t, items, named)
}
