// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"github.com/zclconf/go-cty/cty"
)

// Keep returns a configuration with the prior values of what only the configuration of the creation set, which is to stay as it is. The creation
// set all that config sets, and maybe more: keys of maps, fields of objects, items of lists of objects. What is gone meanwhile stays away.
//
// What a provider alone chooses is left out, since no configuration may set it. Elements of a set, and values of any type, are not told apart:
// where config sets some and the creation set others, they are as at the creation.
func (b *Block) Keep(config, created, prior cty.Value) cty.Value {
	if created.IsNull() {
		return config
	}
	values := map[string]cty.Value{}
	for _, a := range b.Attributes {
		values[a.Name] = a.keep(field(config, a.Name, a.ValueType), field(created, a.Name, a.ValueType), field(prior, a.Name, a.ValueType))
	}
	for _, n := range b.Blocks {
		values[n.Name] = n.keep(field(config, n.Name, n.valueType), field(created, n.Name, n.valueType), field(prior, n.Name, n.valueType))
	}
	return cty.ObjectVal(values)
}

func (a *Attribute) keep(config, created, prior cty.Value) cty.Value {
	switch {
	case a.WriteOnly:
		return config
	case a.Nested != nil:
		return a.asBlock().keep(config, created, prior)
	}
	return keep(config, created, prior)
}

func (n *NestedBlock) keep(config, created, prior cty.Value) cty.Value {
	isUnset := !present(config) || !n.Nesting.once() && len(items(config)) == 0
	switch {
	case created.IsNull() || config.RawEquals(created) || isUnset && !present(prior):
		return config
	case n.Nesting.once():
		return n.Block.Keep(config, created, prior)
	case n.Nesting != Set:
		return union(config, created, prior, n.Block.Keep)
	case !isUnset:
		return created
	case len(items(prior)) == 0:
		return config
	}
	return n.configurable(prior)
}

// keep is Keep for values without flags of their own.
func keep(config, created, prior cty.Value) cty.Value {
	t := created.Type()
	switch {
	case created.IsNull() || config.RawEquals(created):
		return config
	case config.IsNull():
		return prior
	case !t.Equals(config.Type()) || t.IsSetType() && t.ElementType().IsObjectType():
		return created
	case t.IsObjectType() || t.IsMapType() || t.IsListType() && t.ElementType().IsObjectType():
		return union(config, created, prior, keep)
	}
	return config
}

// union returns a collection or an object with the items of a configuration, and the prior ones of those that only the creation set.
func union(config, created, prior cty.Value, join func(config, created, prior cty.Value) cty.Value) cty.Value {
	configured, had := byKey(items(config)), byKey(items(prior))
	var all []item
	var values []cty.Value
	for _, c := range items(created) {
		none := cty.NullVal(c.value.Type())
		mine, isConfigured := configured[keyText(c.key)]
		theirs, isThere := had[keyText(c.key)]
		if !isConfigured && !isThere {
			continue
		}
		if !isConfigured {
			mine = none
		}
		if !isThere {
			theirs = none
		}
		all, values = append(all, c), append(values, join(mine, c.value, theirs))
	}
	return likeOr(config, created, all, values)
}

// likeOr is like for values that may be none, or of several types: then it is a configuration without them.
func likeOr(config, other cty.Value, all []item, values []cty.Value) cty.Value {
	if len(values) == 0 {
		return config
	}
	if value, ok := like(other, all, values); ok {
		return value
	}
	return config
}

// Configurable returns a value without what a provider alone chooses.
func (b *Block) Configurable(value cty.Value) cty.Value {
	if !present(value) {
		return value
	}
	values := map[string]cty.Value{}
	for _, a := range b.Attributes {
		v := field(value, a.Name, a.ValueType)
		switch {
		case a.Computed && !a.Optional, a.WriteOnly:
			v = cty.NullVal(a.ValueType())
		case a.Nested != nil:
			v = a.asBlock().configurable(v)
		}
		values[a.Name] = v
	}
	for _, n := range b.Blocks {
		values[n.Name] = n.configurable(field(value, n.Name, n.valueType))
	}
	return cty.ObjectVal(values)
}

func (n *NestedBlock) configurable(value cty.Value) cty.Value {
	if n.Nesting.once() {
		return n.Block.Configurable(value)
	}
	elements := items(value)
	values := make([]cty.Value, len(elements))
	for i, e := range elements {
		values[i] = n.Block.Configurable(e.value)
	}
	return likeOr(value, value, elements, values)
}
