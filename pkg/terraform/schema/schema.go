// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema describes what a Terraform provider declares of its configuration and of its resource types, in one form for both versions
// of the plugin protocol, and what follows from it: the types of values, and the state that a change proposes.
package schema

import (
	"github.com/zclconf/go-cty/cty"
)

// A Schema is that of a provider's configuration, or of a resource type.
type Schema struct {
	Version int64 // of stored states
	Block   *Block
}

// A Block is an object of attributes and nested blocks. Their names are different.
type Block struct {
	Attributes  []*Attribute
	Blocks      []*NestedBlock
	Description string
	Deprecated  bool
}

// An Attribute is one value. Either Nested or Type is set.
type Attribute struct {
	Name        string
	Type        cty.Type // cty.DynamicPseudoType: any
	Nested      *Object
	Description string

	Required, Optional bool // who configures it: the user must, may, or, with neither, cannot
	Computed           bool // the provider chooses it where the user does not
	Sensitive          bool
	WriteOnly          bool // it is never in a plan or in a state
	Deprecated         bool
	DeprecationMessage string // may be empty
}

// An Object is an attribute whose value has attributes of its own, with their own flags.
type Object struct {
	Attributes []*Attribute
	Nesting    Nesting
}

// A NestedBlock is a block in a block. That of a nesting but Single and Group is never null: without an item it is empty.
type NestedBlock struct {
	Name    string
	Block   *Block
	Nesting Nesting
	// MinItems and MaxItems are of lists and sets; MaxItems 0 means any number. A single block with MinItems 1 is required.
	MinItems, MaxItems int
}

// A Nesting says how often an object or block occurs, and how its items are told apart.
type Nesting int

// The nestings. Their numbers are those of the protocol's blocks.
const (
	Single Nesting = 1 + iota // once, or null
	List
	Set
	Map
	Group // once; where it is not configured all in it is null
)

// Type returns the type of the values of a block.
func (b *Block) Type() cty.Type {
	types := attributeTypes(b.Attributes)
	for _, nested := range b.Blocks {
		item := nested.Block.Type()
		if types[nested.Name] = nested.Nesting.of(item); item.HasDynamicTypes() && (nested.Nesting == List || nested.Nesting == Map) {
			types[nested.Name] = cty.DynamicPseudoType // blocks whose items have different types: a tuple, or an object
		}
	}
	return cty.Object(types)
}

// ValueType returns the type of an attribute's values.
func (a *Attribute) ValueType() cty.Type {
	if a.Nested == nil {
		return a.Type
	}
	return a.Nested.Nesting.of(cty.Object(attributeTypes(a.Nested.Attributes)))
}

func attributeTypes(of []*Attribute) map[string]cty.Type {
	types := map[string]cty.Type{}
	for _, a := range of {
		types[a.Name] = a.ValueType()
	}
	return types
}

// of returns the type of all items.
func (n Nesting) of(item cty.Type) cty.Type {
	switch n {
	case List:
		return cty.List(item)
	case Set:
		return cty.Set(item)
	case Map:
		return cty.Map(item)
	}
	return item
}

// Attribute returns an attribute by its name: nil if there is none.
func (b *Block) Attribute(name string) *Attribute {
	for _, a := range b.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Nested returns a nested block by its name: nil if there is none.
func (b *Block) Nested(name string) *NestedBlock {
	for _, nested := range b.Blocks {
		if nested.Name == name {
			return nested
		}
	}
	return nil
}
