// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A Field of an object, which a user may set: an attribute or a nested block.
type Field struct {
	Name        string // in the API
	Argument    string // in Terraform
	Description string
	Required    bool
	Computed    bool // the provider chooses it where the user does not
	Secret      bool // the API has a reference to a Secret
	WriteOnly   bool // it is in no state
	Deprecated  bool

	Attribute *schema.Attribute // nil for nested blocks
	Inner     *schema.Block     // of objects; nil for an attribute with a type
	Nesting   schema.Nesting    // of Inner
	Least     int               // items of a nested block
	Most      int               // 0: any number
}

// Fields returns the fields of an object, required ones first.
func Fields(b *schema.Block) []Field {
	var all []Field
	for _, a := range b.Attributes {
		if !a.Required && !a.Optional {
			continue
		}
		f := Field{Name: FieldName(b, a.Name), Argument: a.Name, Description: a.Description, Required: a.Required, Computed: a.Computed,
			Secret: a.Sensitive || a.WriteOnly, WriteOnly: a.WriteOnly, Deprecated: a.Deprecated, Attribute: a}
		if a.DeprecationMessage != "" {
			f.Description = a.DeprecationMessage
		}
		if a.Nested != nil {
			f.Inner, f.Nesting = &schema.Block{Attributes: a.Nested.Attributes}, a.Nested.Nesting
		}
		all = append(all, f)
	}
	for _, n := range b.Blocks {
		all = append(all, Field{Name: FieldName(b, n.Name), Argument: n.Name, Description: n.Block.Description, Required: n.MinItems > 0,
			Deprecated: n.Block.Deprecated, Inner: n.Block, Nesting: n.Nesting, Least: n.MinItems, Most: n.MaxItems})
	}
	slices.SortFunc(all, func(a, b Field) int {
		if a.Required != b.Required {
			return map[bool]int{true: -1, false: 1}[a.Required]
		}
		return cmp.Compare(a.Argument, b.Argument)
	})
	return all
}

// FieldName returns the name of an argument in the API.
func FieldName(b *schema.Block, argument string) string {
	return strings.Trim(kinds.FieldPath(b, cty.GetAttrPath(argument)), "[]")
}

// Only returns a block of one attribute, and its name in the API there.
func Only(a *schema.Attribute) (b *schema.Block, name string) {
	b = &schema.Block{Attributes: []*schema.Attribute{a}}
	return b, FieldName(b, a.Name)
}

// Once is true for a field with one object.
func (f Field) Once() bool { return f.Nesting == schema.Single || f.Nesting == schema.Group }
