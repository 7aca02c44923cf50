// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/schema/schematest"
)

// eachRandom calls a test with many random schemas. The seed of a failure is in its message.
func eachRandom(t *testing.T, test func(t *testing.T, r *rand.Rand, b *schema.Block)) {
	t.Helper()
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := schematest.Schema(r).Block
		test(t, r, b)
		if t.Failed() {
			t.Fatalf("seed %d, type %#v", seed, b.Type())
		}
	}
}

func TestProposedOfRandomValuesKeepsTheConfiguration(t *testing.T) {
	t.Parallel()
	eachRandom(t, func(t *testing.T, r *rand.Rand, b *schema.Block) {
		prior := schematest.Value(r, b, schematest.Options{})
		for _, prior := range []cty.Value{prior, cty.NullVal(b.Type()), cty.UnknownVal(b.Type())} {
			config := schematest.Value(r, b, schematest.Options{Config: true, Unknown: r.IntN(2) == 0})
			got := b.Proposed(prior, config)
			if errs := got.Type().TestConformance(b.Type()); errs != nil {
				t.Errorf("not of the block's type: %v", errs)
			}
			if !keeps(b, config, got) {
				t.Errorf("the configuration is not kept\nprior  %#v\nconfig %#v\ngot    %#v", prior, config, got)
			}
			if again := b.Proposed(got, config); config.IsWhollyKnown() && !again.RawEquals(got) {
				t.Errorf("a second proposal differs\nprior  %#v\nconfig %#v\ngot    %#v\nagain  %#v", prior, config, got, again)
			}
		}
	})
}

func TestProposedOfUnchangedConfigurationIsThePriorState(t *testing.T) {
	t.Parallel()
	tried := 0
	eachRandom(t, func(t *testing.T, r *rand.Rand, b *schema.Block) {
		state := schematest.Value(r, b, schematest.Options{})
		c := configurer{Rand: r}
		config := c.block(b, state)
		if c.merged {
			return // elements of a set that differ only in what the provider chose: no configuration makes them
		}
		tried++
		if got := b.Proposed(state, config); !got.RawEquals(state) {
			t.Errorf("changed\nstate  %#v\nconfig %#v\ngot    %#v", state, config, got)
		}
	})
	if tried < 600 {
		t.Errorf("only %d cases were tried", tried)
	}
}

func TestProposedWithUnknownPriorLeavesNothingComputedNull(t *testing.T) {
	t.Parallel()
	eachRandom(t, func(t *testing.T, r *rand.Rand, b *schema.Block) {
		got := b.Proposed(cty.UnknownVal(b.Type()), schematest.Value(r, b, schematest.Options{Config: true}))
		eachObject(b, got, func(b *schema.Block, object cty.Value) {
			for _, a := range b.Attributes {
				if a.Computed && object.GetAttr(a.Name).IsNull() {
					t.Errorf("%s is null in %#v", a.Name, got)
				}
			}
		})
	})
}

func TestDifferencesOfRandomValues(t *testing.T) {
	t.Parallel()
	eachRandom(t, func(t *testing.T, r *rand.Rand, b *schema.Block) {
		before := schematest.Value(r, b, schematest.Options{})
		if found := b.Differences(before, before); len(found) > 0 {
			t.Errorf("a value differs from itself at %v", schema.FormatPath(found[0].Path))
		}
		after := b.Proposed(before, schematest.Value(r, b, schematest.Options{Config: true, Unknown: r.IntN(2) == 0}))
		if r.IntN(2) == 0 {
			after = changeOne(r, before)
		}
		found := b.Differences(before, after)
		if len(found) == 0 != before.RawEquals(after) {
			t.Errorf("%d differences\nbefore %#v\nafter  %#v", len(found), before, after)
		}
		for i, d := range found {
			was, is := at(d.Path, before), at(d.Path, after)
			if d.Before.RawEquals(d.After) || was != cty.NilVal && !was.RawEquals(d.Before) || is != cty.NilVal && !is.RawEquals(d.After) {
				t.Errorf("wrong values at %s: %#v, %#v", schema.FormatPath(d.Path), d.Before, d.After)
			}
			if slices.ContainsFunc(found[:i], func(other schema.Difference) bool { return schema.Covers([]cty.Path{d.Path}, other) }) {
				t.Errorf("%s is in another difference", schema.FormatPath(d.Path))
			}
		}
	})
}

// at returns what is at a path, if anything is.
func at(path cty.Path, in cty.Value) cty.Value {
	for _, step := range path {
		if name, ok := step.(cty.IndexStep); ok && in.Type().IsObjectType() { // blocks of different types
			step = cty.GetAttrStep{Name: name.Key.AsString()}
		}
		var err error
		if in, err = step.Apply(in); err != nil {
			return cty.NilVal
		}
	}
	return in
}

// changeOne returns a value with one other primitive value, which is in no set.
func changeOne(r *rand.Rand, v cty.Value) cty.Value {
	var paths []cty.Path
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type().IsPrimitiveType() {
			paths = append(paths, path.Copy())
		}
		return !v.Type().IsSetType(), nil
	})
	if len(paths) == 0 {
		return v
	}
	chosen := paths[r.IntN(len(paths))]
	changed, _ := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if !path.Equals(chosen) {
			return v, nil
		}
		return cty.UnknownVal(v.Type()), nil
	})
	return changed
}

// objects returns the blocks and objects that are in a value of a nesting.
func objects(n schema.Nesting, v cty.Value) []cty.Value {
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case n == schema.Single || n == schema.Group:
		return []cty.Value{v}
	}
	return v.AsValueSlice()
}

func eachObject(b *schema.Block, v cty.Value, do func(b *schema.Block, object cty.Value)) {
	do(b, v)
	for _, n := range allNested(b) {
		for _, inner := range objects(n.Nesting, v.GetAttr(n.Name)) {
			eachObject(n.Block, inner, do)
		}
	}
}

// allNested returns nested blocks, and nested attributes as if they were blocks.
func allNested(b *schema.Block) []*schema.NestedBlock {
	all := slices.Clone(b.Blocks)
	for _, a := range b.Attributes {
		if a.Nested != nil {
			all = append(all, &schema.NestedBlock{Name: a.Name, Nesting: a.Nested.Nesting, Block: &schema.Block{Attributes: a.Nested.Attributes}})
		}
	}
	return all
}

// keeps reports whether a proposal contains all that a configuration sets.
func keeps(b *schema.Block, config, got cty.Value) bool {
	for _, a := range b.Attributes {
		c, g := config.GetAttr(a.Name), got.GetAttr(a.Name)
		if a.WriteOnly && !g.IsNull() || a.Nested == nil && !a.WriteOnly && !c.IsNull() && !g.RawEquals(c) {
			return false
		}
	}
	for _, n := range allNested(b) {
		c, g := config.GetAttr(n.Name), got.GetAttr(n.Name)
		if !c.IsNull() && (g.IsNull() || g.IsKnown() != c.IsKnown()) || c.IsNull() && b.Attribute(n.Name) == nil && !g.IsNull() {
			return false
		}
		configs, proposed := objects(n.Nesting, c), objects(n.Nesting, g)
		for i, c := range configs {
			keeps := func(p cty.Value) bool { return keeps(n.Block, c, p) }
			isSet := n.Nesting == schema.Set
			if len(configs) != len(proposed) || isSet && !slices.ContainsFunc(proposed, keeps) || !isSet && !keeps(proposed[i]) {
				return false
			}
		}
	}
	return true
}

// A configurer makes a configuration of which a state can come: it drops what only the provider sets, and some of what the user may leave to
// it.
type configurer struct {
	*rand.Rand
	merged bool // elements of a set became equal
}

func (c *configurer) block(b *schema.Block, state cty.Value) cty.Value {
	config := state.AsValueMap()
	for _, a := range b.Attributes {
		if a.Computed && (!a.Optional || a.Nested == nil && c.IntN(2) == 0) {
			config[a.Name] = cty.NullVal(a.ValueType())
		}
		if a.WriteOnly && c.IntN(2) == 0 && a.Type == cty.String {
			config[a.Name] = cty.StringVal("secret")
		}
	}
	for _, n := range allNested(b) {
		config[n.Name] = c.nested(n, config[n.Name])
	}
	return cty.ObjectVal(config)
}

func (c *configurer) nested(n *schema.NestedBlock, state cty.Value) cty.Value {
	switch {
	case state.IsNull():
		return state
	case n.Nesting == schema.Single || n.Nesting == schema.Group:
		return c.block(n.Block, state)
	case state.LengthInt() == 0:
		return state
	}
	var items []cty.Value
	named := values{}
	for key, value := range state.Elements() {
		items = append(items, c.block(n.Block, value))
		if key.Type() == cty.String {
			named[key.AsString()] = items[len(items)-1]
		}
	}
	switch t := state.Type(); {
	case t.IsObjectType():
		return cty.ObjectVal(named)
	case t.IsMapType():
		return cty.MapVal(named)
	case t.IsTupleType():
		return cty.TupleVal(items)
	case t.IsListType():
		return cty.ListVal(items)
	}
	elements := cty.SetVal(items)
	c.merged = c.merged || elements.LengthInt() < len(items)
	return elements
}
