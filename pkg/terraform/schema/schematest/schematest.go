// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schematest makes random schemas of Terraform providers, and random values of them, for property tests. The schemas obey the rules that
// Terraform checks: dynamic values are neither in sets nor in the collections of nested attributes, and write-only ones are not in sets.
package schematest

import (
	"fmt"
	"math/rand/v2"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Schema returns a schema with all kinds of attributes and up to three levels of nested blocks and nested attributes.
func Schema(r *rand.Rand) *schema.Schema {
	g := generator{Rand: r}
	return &schema.Schema{Version: g.Int64N(3), Block: g.block(place{levels: 3, dynamic: true, writeOnly: true})}
}

type generator struct{ *rand.Rand }

// A place says what a schema may have where it is.
type place struct {
	levels             int // of nested blocks and attributes
	dynamic, writeOnly bool
	computed           bool // in an attribute that only the provider sets
}

// in returns the place in a block or an object of a nesting.
func (p place) in(n schema.Nesting, attribute bool) place {
	once := n == schema.Single || n == schema.Group
	p.levels--
	p.dynamic = p.dynamic && (once || !attribute && n != schema.Set)
	p.writeOnly = p.writeOnly && n != schema.Set
	return p
}

func (g generator) one(in int) bool { return g.IntN(in) == 0 }

func (g generator) block(at place) *schema.Block {
	b := &schema.Block{Attributes: g.attributes(at), Deprecated: g.one(20)}
	if at.levels == 0 {
		return b
	}
	for range g.IntN(3) {
		n := &schema.NestedBlock{Name: g.name(len(b.Attributes) + len(b.Blocks)), Nesting: schema.Nesting(1 + g.IntN(5))}
		n.Block = g.block(at.in(n.Nesting, false))
		if g.one(4) && (n.Nesting == schema.List || n.Nesting == schema.Set || n.Nesting == schema.Single) {
			n.MinItems, n.MaxItems = 1, 1
		}
		b.Blocks = append(b.Blocks, n)
	}
	return b
}

func (g generator) attributes(at place) []*schema.Attribute {
	var attributes []*schema.Attribute
	for i := range 1 + g.IntN(4) {
		a := &schema.Attribute{Name: g.name(i), Description: "An attribute.", Sensitive: g.one(8), Deprecated: g.one(20)}
		switch g.IntN(5) {
		case 0:
			a.Required = true
		case 1:
			a.Optional = true
		case 2:
			a.Computed = true
		default:
			a.Optional, a.Computed = true, true
		}
		if at.computed {
			a.Required, a.Optional, a.Computed = false, false, true
		}
		if at.levels > 0 && g.one(4) {
			g.nest(a, at)
		} else {
			a.Type = g.valueType(at)
		}
		a.WriteOnly = at.writeOnly && !a.Computed && a.Nested == nil && g.one(6)
		attributes = append(attributes, a)
	}
	return attributes
}

func (g generator) nest(a *schema.Attribute, at place) {
	n := schema.Nesting(1 + g.IntN(4)) // an attribute cannot be a group
	in := at.in(n, true)
	in.computed = !a.Required && !a.Optional
	a.Nested = &schema.Object{Attributes: g.attributes(in), Nesting: n}
}

// name returns a name that differs from those of other numbers.
func (g generator) name(number int) string {
	words := []string{"id", "name", "max_size", "ipv4_cidr", "tags", "a_1"}
	return fmt.Sprintf("%s_%c", words[g.IntN(len(words))], 'a'+number)
}

func (g generator) valueType(at place) cty.Type {
	primitives := []cty.Type{cty.String, cty.Number, cty.Bool}
	p := primitives[g.IntN(len(primitives))]
	switch g.IntN(12) {
	case 0:
		return cty.List(p)
	case 1:
		return cty.Set(p)
	case 2:
		return cty.Map(p)
	case 3:
		return cty.Object(map[string]cty.Type{"x": p, "y": cty.List(cty.String)})
	case 4:
		return cty.Tuple([]cty.Type{p, cty.String})
	case 5:
		return cty.Set(cty.Object(map[string]cty.Type{"z": p, "s": cty.Set(cty.String)}))
	case 6, 7:
		if at.dynamic {
			return cty.DynamicPseudoType
		}
	}
	return p
}
