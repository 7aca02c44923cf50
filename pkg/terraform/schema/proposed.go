// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Proposed returns the state that Terraform proposes to a provider before it plans: the configuration, with the prior value of each computed
// attribute that is null in the configuration. A prior value of null means creation: those attributes are then null, and the provider plans
// them as unknown. With an unknown prior value they are unknown. A null configuration means deletion and is returned as it is.
//
// Both values are of the block's type. Terraform describes the rules in docs/resource-instance-change-lifecycle.md.
func (b *Block) Proposed(prior, config cty.Value) cty.Value {
	if !present(config) {
		return config
	}
	values := map[string]cty.Value{}
	for _, a := range b.Attributes {
		values[a.Name] = a.proposed(field(prior, a.Name, a.ValueType), field(config, a.Name, a.ValueType))
	}
	for _, nested := range b.Blocks {
		values[nested.Name] = nested.proposed(field(prior, nested.Name, nested.valueType), field(config, nested.Name, nested.valueType))
	}
	return cty.ObjectVal(values)
}

func (a *Attribute) proposed(prior, config cty.Value) cty.Value {
	switch {
	case a.WriteOnly:
		return cty.NullVal(a.ValueType())
	case a.Computed && config.IsNull() && !(a.Optional && a.configured(prior)):
		return prior
	case a.Nested != nil:
		return a.asBlock().proposed(prior, config)
	}
	return config
}

// configured reports whether a value of a nested attribute contains what only a configuration sets. If the configuration is null now, the
// user has removed it.
func (a *Attribute) configured(value cty.Value) bool {
	if a.Nested == nil {
		return false
	}
	objects := items(value)
	if a.Nested.Nesting.once() {
		objects = []item{{value: value}}
	}
	for _, object := range objects {
		for _, inner := range a.Nested.Attributes {
			v := field(object.value, inner.Name, inner.ValueType)
			if present(v) && (!inner.Computed || inner.configured(v)) {
				return true
			}
		}
	}
	return false
}

// asBlock returns the nested block that has the values of a nested attribute.
func (a *Attribute) asBlock() *NestedBlock {
	return &NestedBlock{Name: a.Name, Block: &Block{Attributes: a.Nested.Attributes}, Nesting: a.Nested.Nesting}
}

func (n *NestedBlock) proposed(prior, config cty.Value) cty.Value {
	if n.Nesting.once() {
		return n.Block.Proposed(prior, config)
	}
	configs := items(config)
	if len(configs) == 0 {
		return config
	}
	priors := n.priors(prior, configs)
	proposed := make([]cty.Value, len(configs))
	for i, c := range configs {
		proposed[i] = n.Block.Proposed(priors[i], c.value)
	}
	if value, ok := like(config, configs, proposed); ok {
		return value
	}
	// A prior item has another type behind a dynamic one, but all items of a collection have one type: leave the prior values out.
	for i, c := range configs {
		proposed[i] = n.Block.Proposed(c.value, c.value)
	}
	value, _ := like(config, configs, proposed)
	return value
}

// priors returns the prior item of each configured one: that with the same index or key, or in a set the one that matches.
func (n *NestedBlock) priors(prior cty.Value, configs []item) []cty.Value {
	none := cty.NullVal(n.Block.Type())
	if !prior.IsKnown() {
		none = cty.UnknownVal(n.Block.Type())
	}
	priors := slices.Repeat([]cty.Value{none}, len(configs))
	if n.Nesting == Set {
		elements := items(prior)
		for j, i := range n.match(elements, configs) {
			priors[i] = elements[j].value
		}
		return priors
	}
	named := byKey(items(prior))
	for i, c := range configs {
		if p, ok := named[keyText(c.key)]; ok {
			priors[i] = p
		}
	}
	return priors
}

// match pairs prior elements of a set with configured ones, as many as possible: the result has the configured one of each prior one. Unlike
// Terraform, it compares what the provider can choose also in sets within the elements: otherwise an unchanged configuration proposes changes.
func (n *NestedBlock) match(priors, configs []item) map[int]int {
	alike := map[string][]int{} // prior elements by fingerprint
	for j, p := range priors {
		text := n.Block.fingerprint(p.value)
		alike[text] = append(alike[text], j)
	}
	fitting := make([][]int, len(configs)) // the prior elements that each configured one can be paired with
	for i, c := range configs {
		for _, j := range alike[n.Block.fingerprint(c.value)] {
			if n.Block.keeps(priors[j].value, c.value) {
				fitting[i] = append(fitting[i], j)
			}
		}
	}
	matched := map[int]int{}
	var pair func(i int, tried map[int]bool) bool
	pair = func(i int, tried map[int]bool) bool {
		for _, j := range fitting[i] {
			if tried[j] {
				continue
			}
			tried[j] = true
			if other, taken := matched[j]; !taken || pair(other, tried) {
				matched[j] = i
				return true
			}
		}
		return false
	}
	for i := range configs { // in cty's order of a set, which puts an element that equals a prior one before those that only fit it
		pair(i, map[int]bool{})
	}
	return matched
}

// keeps reports whether a configuration proposes the prior value unchanged.
func (b *Block) keeps(prior, config cty.Value) bool {
	for _, a := range b.Attributes { // most elements differ here, and this comparison is much cheaper than a proposal
		c := field(config, a.Name, a.ValueType)
		if chosen := a.Computed && c.IsNull(); !chosen && !a.WriteOnly && a.Nested == nil && !c.RawEquals(field(prior, a.Name, a.ValueType)) {
			return false
		}
	}
	return b.Proposed(prior, config).RawEquals(prior)
}

// fingerprint returns a text that is the same for all values that differ only in what the provider can choose.
func (b *Block) fingerprint(value cty.Value) string {
	if !present(value) {
		return value.GoString()
	}
	var text strings.Builder
	for _, a := range b.Attributes {
		v := field(value, a.Name, a.ValueType)
		switch {
		case a.Computed || a.WriteOnly:
		case a.Nested != nil:
			text.WriteString(a.asBlock().fingerprint(v))
		default:
			text.WriteString(strconv.Itoa(v.Hash()) + ",")
		}
	}
	for _, nested := range b.Blocks {
		text.WriteString(nested.fingerprint(field(value, nested.Name, nested.valueType)))
	}
	return text.String()
}

func (n *NestedBlock) fingerprint(value cty.Value) string {
	if n.Nesting.once() || !present(value) {
		return n.Block.fingerprint(value)
	}
	var texts []string
	for _, item := range items(value) {
		texts = append(texts, n.Block.fingerprint(item.value))
	}
	if n.Nesting == Set {
		slices.Sort(texts)
	}
	return "[" + strings.Join(texts, ";") + "]"
}

// Empty returns the configuration in which nothing is set.
func (b *Block) Empty() cty.Value {
	values := map[string]cty.Value{}
	for _, a := range b.Attributes {
		values[a.Name] = cty.NullVal(a.ValueType())
	}
	for _, nested := range b.Blocks {
		values[nested.Name] = nested.orEmpty(cty.NullVal(nested.valueType()))
	}
	return cty.ObjectVal(values)
}

// orEmpty returns a value of nested blocks, or for a null one that without any block. Only a single block can be null.
func (n *NestedBlock) orEmpty(value cty.Value) cty.Value {
	dynamic := n.Block.Type().HasDynamicTypes()
	switch {
	case n.Nesting == Single || !value.IsKnown() || len(items(value)) > 0:
		return value
	case n.Nesting == Group:
		return n.Block.Empty()
	case n.Nesting == List && dynamic:
		return cty.EmptyTupleVal
	case n.Nesting == Map && dynamic:
		return cty.EmptyObjectVal
	case n.Nesting == List:
		return cty.ListValEmpty(n.Block.Type())
	case n.Nesting == Map:
		return cty.MapValEmpty(n.Block.Type())
	}
	return cty.SetValEmpty(n.Block.Type())
}

func (n *NestedBlock) valueType() cty.Type {
	return (&Block{Blocks: []*NestedBlock{n}}).Type().AttributeType(n.Name)
}

func (n Nesting) once() bool { return n == Single || n == Group }

// An item is one of the values in a value, with its index, key or name. An element of a set is its own key.
type item struct{ key, value cty.Value }

// items returns what a collection or an object contains: nothing if it is null or unknown.
func items(of cty.Value) []item {
	var items []item
	if present(of) && of.CanIterateElements() {
		for key, value := range of.Elements() {
			items = append(items, item{key, value})
		}
	}
	return items
}

func byKey(items []item) map[string]cty.Value {
	values := map[string]cty.Value{}
	for _, item := range items {
		values[keyText(item.key)] = item.value
	}
	return values
}

func keyText(key cty.Value) string {
	switch {
	case present(key) && key.Type() == cty.String:
		return key.AsString()
	case present(key) && key.Type() == cty.Number:
		return key.AsBigFloat().Text('f', -1)
	}
	return "*"
}

// like makes a collection of the kind of another one with the same keys. It reports false, with an unknown value, if the values have different
// types and cannot be in one.
func like(other cty.Value, items []item, values []cty.Value) (cty.Value, bool) {
	named := map[string]cty.Value{}
	for i, value := range values {
		named[keyText(items[i].key)] = value
	}
	switch t := other.Type(); {
	case t.IsTupleType():
		return cty.TupleVal(values), true
	case t.IsObjectType():
		return cty.ObjectVal(named), true
	case t.IsListType() && cty.CanListVal(values):
		return cty.ListVal(values), true
	case t.IsSetType() && cty.CanSetVal(values):
		return cty.SetVal(values), true
	case t.IsMapType() && cty.CanMapVal(named):
		return cty.MapVal(named), true
	}
	return cty.UnknownVal(other.Type()), false
}

// field returns what an object has by a name. An object that is null, unknown or of another type has a null or unknown value of the type.
func field(of cty.Value, name string, valueType func() cty.Type) cty.Value {
	switch {
	case !of.IsKnown():
		return cty.UnknownVal(valueType())
	case of.IsNull() || !of.Type().IsObjectType() || !of.Type().HasAttribute(name):
		return cty.NullVal(valueType())
	}
	return of.GetAttr(name)
}
