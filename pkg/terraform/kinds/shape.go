// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A form is what a value is in the API.
type form int

const (
	scalar  form = iota // string, number or bool
	dynamic             // any value
	tuple               // list whose elements have types of their own
	object
	list
	set
	mapping // object with keys that the user chooses
)

// A shape is a type of values: that of a block, of an attribute, or of a part of either.
type shape struct {
	form  form
	cty   cty.Type // of scalars and tuples
	item  *shape   // of lists, sets and maps
	block *schema.Block
	// isBlock is true for nested blocks. Their lists, sets and maps are never null, and neither are groups.
	isBlock, group bool
}

func shapeOfBlock(b *schema.Block) shape { return shape{form: object, block: b} }

func shapeOfNested(n *schema.NestedBlock) shape {
	s := nest(n.Nesting, shapeOfBlock(n.Block))
	s.isBlock, s.group = true, n.Nesting == schema.Group
	return s
}

func shapeOfAttribute(a *schema.Attribute) shape {
	if a.Nested == nil {
		return shapeOfType(a.Type)
	}
	return nest(a.Nested.Nesting, shapeOfBlock(&schema.Block{Attributes: a.Nested.Attributes}))
}

func nest(n schema.Nesting, item shape) shape {
	switch n {
	case schema.List:
		return shape{form: list, item: &item}
	case schema.Set:
		return shape{form: set, item: &item}
	case schema.Map:
		return shape{form: mapping, item: &item}
	}
	return item
}

func shapeOfType(t cty.Type) shape {
	switch {
	case t == cty.DynamicPseudoType:
		return shape{form: dynamic}
	case t.IsListType():
		return nest(schema.List, shapeOfType(t.ElementType()))
	case t.IsSetType():
		return nest(schema.Set, shapeOfType(t.ElementType()))
	case t.IsMapType():
		return nest(schema.Map, shapeOfType(t.ElementType()))
	case t.IsObjectType():
		b := &schema.Block{}
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			b.Attributes = append(b.Attributes, &schema.Attribute{Name: name, Type: t.AttributeType(name), Optional: true})
		}
		return shapeOfBlock(b)
	case t.IsTupleType():
		return shape{form: tuple, cty: t}
	}
	return shape{form: scalar, cty: t}
}

// mixed is true for nested blocks whose items may have different types: their lists are tuples, and their maps objects.
func (s shape) mixed() bool {
	return s.isBlock && (s.form == list || s.form == mapping) && s.item.ctyType().HasDynamicTypes()
}

// ctyType returns the type of the values, which may have parts of any type.
func (s shape) ctyType() cty.Type {
	switch s.form {
	case dynamic:
		return cty.DynamicPseudoType
	case object:
		return s.block.Type()
	case list:
		if s.mixed() {
			return cty.DynamicPseudoType
		}
		return cty.List(s.item.ctyType())
	case set:
		return cty.Set(s.item.ctyType())
	case mapping:
		if s.mixed() {
			return cty.DynamicPseudoType
		}
		return cty.Map(s.item.ctyType())
	}
	return s.cty
}

// A field of an object.
type field struct {
	shape
	name        string // in the API
	attribute   string // in Terraform
	description string
	required    bool // in a configuration
	input       bool // the user may set it
	deprecated  bool
	instead     string // what the provider says about a deprecation: may be empty
	secret      bool   // inputs are references to Secrets, and outputs are in the connection Secret only
	writeOnly   bool   // no state has it
	computed    bool   // the provider chooses it where the user does not
	min, max    int    // items; 0 is no limit
}

// plainName returns the name without the suffix of references to Secrets.
func (f field) plainName() string {
	if f.secret && f.input {
		return strings.TrimSuffix(f.name, parameters.SecretSuffix)
	}
	return f.name
}

// fields returns the fields of an object by their name in Terraform. Names in the API that end with SecretRef are those of secrets.
func (s shape) fields() []field {
	fields := make([]field, 0, len(s.block.Attributes)+len(s.block.Blocks))
	for _, a := range s.block.Attributes {
		fields = append(fields, field{shape: shapeOfAttribute(a), attribute: a.Name, required: a.Required, input: a.Required || a.Optional,
			secret: a.Sensitive || a.WriteOnly, writeOnly: a.WriteOnly, computed: a.Computed, deprecated: a.Deprecated, instead: a.DeprecationMessage,
			description: describe(a.Description, a.Deprecated, a.DeprecationMessage)})
	}
	for _, n := range s.block.Blocks {
		fields = append(fields, field{shape: shapeOfNested(n), attribute: n.Name, required: n.MinItems > 0, input: true,
			deprecated: n.Block.Deprecated, min: n.MinItems, max: n.MaxItems, description: describe(n.Block.Description, n.Block.Deprecated, "")})
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.attribute, b.attribute) })
	taken := map[string]bool{}
	for i := range fields {
		f, suffix := &fields[i], ""
		if f.secret && f.input {
			suffix = parameters.SecretSuffix
		}
		f.name = camelCase(f.attribute) + suffix
		if taken[f.name] || suffix == "" && strings.HasSuffix(f.name, parameters.SecretSuffix) {
			f.name = f.attribute + suffix
		}
		for taken[f.name] {
			f.name += "_"
		}
		taken[f.name] = true
	}
	return fields
}

func describe(text string, deprecated bool, instead string) string {
	switch {
	case !deprecated:
		return text
	case instead == "":
		return "Deprecated. " + text
	}
	return "Deprecated: " + strings.TrimRight(instead, ". \n") + ". " + text
}
