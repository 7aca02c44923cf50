// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A field of an object, which a user may set: an attribute or a nested block.
type field struct {
	name        string // in the API
	argument    string // in Terraform
	description string
	required    bool
	computed    bool // the provider chooses it where the user does not
	secret      bool // the API has a reference to a Secret
	writeOnly   bool // it is in no state
	deprecated  bool

	attribute *schema.Attribute // nil for nested blocks
	inner     *schema.Block     // of objects; nil for an attribute with a type
	nesting   schema.Nesting    // of inner
	least     int               // items of a nested block
	most      int               // 0: any number
}

// fieldsOf returns the fields of an object, required ones first.
func fieldsOf(b *schema.Block) []field {
	var all []field
	for _, a := range b.Attributes {
		if !a.Required && !a.Optional {
			continue
		}
		f := field{name: fieldName(b, a.Name), argument: a.Name, description: a.Description, required: a.Required, computed: a.Computed,
			secret: a.Sensitive || a.WriteOnly, writeOnly: a.WriteOnly, deprecated: a.Deprecated, attribute: a}
		if a.DeprecationMessage != "" {
			f.description = a.DeprecationMessage
		}
		if a.Nested != nil {
			f.inner, f.nesting = &schema.Block{Attributes: a.Nested.Attributes}, a.Nested.Nesting
		}
		all = append(all, f)
	}
	for _, n := range b.Blocks {
		all = append(all, field{name: fieldName(b, n.Name), argument: n.Name, description: n.Block.Description, required: n.MinItems > 0,
			deprecated: n.Block.Deprecated, inner: n.Block, nesting: n.Nesting, least: n.MinItems, most: n.MaxItems})
	}
	slices.SortFunc(all, func(a, b field) int {
		if a.required != b.required {
			if a.required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.argument, b.argument)
	})
	return all
}

// fieldName returns the name of an argument in the API.
func fieldName(b *schema.Block, argument string) string {
	return strings.Trim(kinds.FieldPath(b, cty.GetAttrPath(argument)), "[]")
}

// typed returns the attributes of an object type.
func typed(t cty.Type) *schema.Block {
	b := &schema.Block{}
	for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
		b.Attributes = append(b.Attributes, &schema.Attribute{Name: name, Type: t.AttributeType(name), Optional: true})
	}
	return b
}

// only returns a block of one attribute, and its name in the API there.
func only(a *schema.Attribute) (b *schema.Block, name string) {
	b = &schema.Block{Attributes: []*schema.Attribute{a}}
	return b, fieldName(b, a.Name)
}

// child returns the path of a field or key as spec.references has it.
func child(at, name string) string {
	switch {
	case strings.ContainsAny(name, "./[]"):
		return at + "[" + name + "]"
	case at == "":
		return name
	}
	return at + "." + name
}

func item(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// once is true for a nesting of one object.
func once(n schema.Nesting) bool { return n == schema.Single || n == schema.Group }
