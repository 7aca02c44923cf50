// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

type values = map[string]cty.Value

var (
	str     = cty.StringVal
	null    = cty.NullVal(cty.String)
	unknown = cty.UnknownVal(cty.String)
	object  = cty.ObjectVal
)

func list(items ...cty.Value) cty.Value  { return cty.ListVal(items) }
func set(items ...cty.Value) cty.Value   { return cty.SetVal(items) }
func tuple(items ...cty.Value) cty.Value { return cty.TupleVal(items) }

// item is a block or object with the three kinds of attributes: set (o), set or computed (oc), computed (c).
func item(o, oc, c cty.Value) cty.Value { return object(values{"o": o, "oc": oc, "c": c}) }

func itemAttributes() []*schema.Attribute {
	return []*schema.Attribute{
		{Name: "o", Type: cty.String, Optional: true},
		{Name: "oc", Type: cty.String, Optional: true, Computed: true},
		{Name: "c", Type: cty.String, Computed: true},
	}
}

func itemBlock() *schema.Block { return &schema.Block{Attributes: itemAttributes()} }

// blocks returns a block with nested ones named b, and nested one with an attribute named a.
func blocks(n schema.Nesting, of *schema.Block) *schema.Block {
	return &schema.Block{Blocks: []*schema.NestedBlock{{Name: "b", Nesting: n, Block: of}}}
}

func nested(n schema.Nesting, computed bool, of ...*schema.Attribute) *schema.Block {
	return &schema.Block{Attributes: []*schema.Attribute{nestedAttribute("a", n, computed, of...)}}
}

func nestedAttribute(name string, n schema.Nesting, computed bool, of ...*schema.Attribute) *schema.Attribute {
	return &schema.Attribute{Name: name, Nested: &schema.Object{Nesting: n, Attributes: of}, Optional: true, Computed: computed}
}

func dynamicBlock() *schema.Block {
	return &schema.Block{Attributes: []*schema.Attribute{
		{Name: "d", Type: cty.DynamicPseudoType, Optional: true}, {Name: "c", Type: cty.DynamicPseudoType, Computed: true},
	}}
}

func a(v cty.Value) cty.Value { return object(values{"a": v}) }
func b(v cty.Value) cty.Value { return object(values{"b": v}) }

// dynamic is a value of dynamicBlock.
func dynamic(d, c cty.Value) cty.Value { return object(values{"d": d, "c": c}) }

type proposal struct {
	reason              string
	block               *schema.Block
	prior, config, want cty.Value
}

func runProposals(t *testing.T, cases map[string]proposal) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.block.Proposed(tc.prior, tc.config)
			if !got.RawEquals(tc.want) {
				t.Errorf("%s\n got %#v\nwant %#v", tc.reason, got, tc.want)
			}
			if errs := got.Type().TestConformance(tc.block.Type()); errs != nil {
				t.Errorf("the result is not of the block's type: %v", errs)
			}
		})
	}
}

func TestProposedAttributes(t *testing.T) {
	block := itemBlock()
	noState := cty.NullVal(block.Type())
	secret := &schema.Block{Attributes: []*schema.Attribute{{Name: "a", Type: cty.String, Optional: true, WriteOnly: true}}}
	free := &schema.Block{Attributes: []*schema.Attribute{{Name: "a", Type: cty.DynamicPseudoType, Optional: true, Computed: true}}}
	runProposals(t, map[string]proposal{
		"Creation": {
			reason: "Terraform proposes null for what is computed, and providers rely on it to recognise what is not configured.",
			block:  block, prior: noState, config: item(str("x"), null, null), want: item(str("x"), null, null),
		},
		"UnknownPrior": {
			reason: "With an unknown prior value what the provider chooses is unknown.",
			block:  block, prior: cty.DynamicVal, config: item(null, null, null), want: item(null, unknown, unknown),
		},
		"Deletion": {
			reason: "Terraform proposes null for a deletion.",
			block:  block, prior: item(str("x"), str("y"), str("z")), config: noState, want: noState,
		},
		"Update": {
			reason: "The configuration wins where it says something, also null for what is not computed.",
			block:  block, prior: item(str("x"), str("y"), str("z")), config: item(null, str("new"), null), want: item(null, str("new"), str("z")),
		},
		"NotConfigured": {
			reason: "The provider's earlier choice is kept.",
			block:  block, prior: item(str("x"), str("y"), str("z")), config: item(str("x"), null, null), want: item(str("x"), str("y"), str("z")),
		},
		"UnknownConfig": {
			reason: "An unknown value is a configured one.",
			block:  block, prior: item(str("x"), str("y"), str("z")), config: item(unknown, unknown, null), want: item(unknown, unknown, str("z")),
		},
		"WriteOnly": {
			reason: "A write-only value is never in a plan.",
			block:  secret, prior: a(null), config: a(str("secret")), want: a(null),
		},
		"OtherTypeBehindDynamic": {
			reason: "The prior value may have another type than the configuration.",
			block:  free, prior: a(tuple(str("x"))), config: a(cty.NullVal(cty.DynamicPseudoType)), want: a(tuple(str("x"))),
		},
	})
}

func TestProposedBlocks(t *testing.T) {
	block, dynamics := itemBlock(), dynamicBlock()
	prior := item(str("x"), str("y"), str("z"))
	config, kept := item(str("new"), null, null), item(str("new"), str("y"), str("z"))
	none, one := cty.NullVal(cty.DynamicPseudoType), cty.NumberIntVal(1)
	runProposals(t, map[string]proposal{
		"Single":        {block: blocks(schema.Single, block), prior: b(prior), config: b(config), want: b(kept)},
		"SingleRemoved": {block: blocks(schema.Single, block), prior: b(prior), config: b(cty.NullVal(block.Type())), want: b(cty.NullVal(block.Type()))},
		"SingleAdded":   {block: blocks(schema.Single, block), prior: b(cty.NullVal(block.Type())), config: b(config), want: b(config)},
		"Group":         {block: blocks(schema.Group, block), prior: b(prior), config: b(config), want: b(kept)},
		"ListByIndex": {
			reason: "A further item has no prior values.",
			block:  blocks(schema.List, block), prior: b(list(prior)), config: b(list(config, config)), want: b(list(kept, config)),
		},
		"ListShorter": {
			reason: "The configuration says how many blocks there are.",
			block:  blocks(schema.List, block), prior: b(list(prior, prior)), config: b(list(config)), want: b(list(kept)),
		},
		"ListRemoved": {
			block: blocks(schema.List, block), prior: b(list(prior)), config: b(cty.ListValEmpty(block.Type())), want: b(cty.ListValEmpty(block.Type())),
		},
		"ListUnknown": {
			reason: "How many blocks there are may depend on what is not known yet.",
			block:  blocks(schema.List, block), prior: b(list(prior)),
			config: b(cty.UnknownVal(cty.List(block.Type()))), want: b(cty.UnknownVal(cty.List(block.Type()))),
		},
		"MapByKey": {
			block: blocks(schema.Map, block), prior: b(cty.MapVal(values{"k": prior, "other": prior})),
			config: b(cty.MapVal(values{"k": config, "new": config})), want: b(cty.MapVal(values{"k": kept, "new": config})),
		},
		"ListOfDynamic": {
			reason: "Blocks of different types are in a tuple.",
			block:  blocks(schema.List, dynamics), prior: b(tuple(dynamic(one, str("z")), dynamic(one, one))),
			config: b(tuple(dynamic(str("x"), none), dynamic(one, none), dynamic(one, none))),
			want:   b(tuple(dynamic(str("x"), str("z")), dynamic(one, one), dynamic(one, none))),
		},
		"MapOfDynamic": {
			reason: "Blocks of different types are in an object.",
			block:  blocks(schema.Map, dynamics), prior: b(object(values{"k": dynamic(one, str("z"))})),
			config: b(object(values{"k": dynamic(str("x"), none), "new": dynamic(one, none)})),
			want:   b(object(values{"k": dynamic(str("x"), str("z")), "new": dynamic(one, none)})),
		},
		"DynamicPriorIsNoTuple": {
			reason: "A prior value of an older schema may be anything.",
			block:  blocks(schema.List, dynamics), prior: b(str("odd")), config: b(tuple(dynamic(one, none))), want: b(tuple(dynamic(one, none))),
		},
		"DynamicPriorItemIsNoObject": {
			block: blocks(schema.List, dynamics), prior: b(tuple(str("odd"))), config: b(tuple(dynamic(one, none))), want: b(tuple(dynamic(one, none))),
		},
	})
}

func TestProposedSets(t *testing.T) {
	block := blocks(schema.Set, itemBlock())
	secrets := &schema.Block{Attributes: []*schema.Attribute{
		{Name: "c", Type: cty.String, Computed: true}, {Name: "w", Type: cty.String, Optional: true, WriteOnly: true},
	}}
	two := &schema.Block{Attributes: []*schema.Attribute{
		{Name: "x", Type: cty.String, Optional: true, Computed: true}, {Name: "y", Type: cty.String, Optional: true, Computed: true},
	}}
	pair := func(x, y cty.Value) cty.Value { return object(values{"x": x, "y": y}) }
	sets := blocks(schema.Set, blocks(schema.Set, itemBlock()))
	p := func(o, oc, c string) cty.Value { return item(str(o), str(oc), str(c)) }
	runProposals(t, map[string]proposal{
		"SameElement": {
			reason: "An element whose configuration has not changed keeps what the provider chose.",
			block:  block, prior: b(set(p("x", "y", "z"), p("x2", "y2", "z2"))),
			config: b(set(item(str("x2"), str("y2"), null), item(str("x"), null, null))), want: b(set(p("x", "y", "z"), p("x2", "y2", "z2"))),
		},
		"ChangedElement": {
			reason: "An element with another configuration is a new one.",
			block:  block, prior: b(set(p("x", "y", "z"))), config: b(set(item(str("new"), null, null))), want: b(set(item(str("new"), null, null))),
		},
		"ComputedValueConfigured": {
			reason: "A configured value that differs makes another element.",
			block:  block, prior: b(set(p("x", "y", "z"))), config: b(set(item(str("x"), str("new"), null))), want: b(set(item(str("x"), str("new"), null))),
		},
		"PriorElementOnce": {
			reason: "Two elements never become one.",
			block:  block, prior: b(set(p("x", "y", "z"))), config: b(set(item(str("x"), null, null), item(str("x"), str("y"), null))),
			want: b(set(item(str("x"), null, null), p("x", "y", "z"))),
		},
		"MostPairs": {
			reason: "An element that fits two prior ones leaves the one that is the only one for another.",
			block:  blocks(schema.Set, two), prior: b(set(pair(str("a"), str("b")), pair(str("a"), str("b2")))),
			config: b(set(pair(str("a"), null), pair(null, str("b")))), want: b(set(pair(str("a"), str("b")), pair(str("a"), str("b2")))),
		},
		"EqualElementFirst": {
			reason: "An element that equals a prior one is that one; otherwise both would become equal, hence one.",
			block:  block, prior: b(set(p("x", "y", "z"))), config: b(set(item(str("x"), null, null), p("x", "y", "z"))),
			want: b(set(item(str("x"), null, null), p("x", "y", "z"))),
		},
		"UnknownElement": {
			reason: "An unknown value may be any, so that the element has no prior one.",
			block:  block, prior: b(set(p("x", "y", "z"))), config: b(set(item(unknown, null, null))), want: b(set(item(unknown, null, null))),
		},
		"UnknownPrior": {
			block: block, prior: cty.UnknownVal(block.Type()), config: b(set(item(str("x"), null, null))), want: b(set(item(str("x"), unknown, unknown))),
		},
		"WriteOnlyInSet": {
			reason: "A write-only value does not tell elements apart, since no state has it.",
			block:  blocks(schema.Set, secrets), prior: b(set(object(values{"c": str("z"), "w": null}))),
			config: b(set(object(values{"c": null, "w": str("secret")}))), want: b(set(object(values{"c": str("z"), "w": null}))),
		},
		"SetInSet": {
			reason: "Elements are compared by what they contain, too.",
			block:  sets, prior: b(set(b(set(p("x", "y", "z"))), b(set(p("x2", "y2", "z2"), p("x3", "y3", "z3"))))),
			config: b(set(b(set(item(str("x2"), null, null), item(str("x3"), str("y3"), null))), b(set(item(str("x"), null, null))))),
			want:   b(set(b(set(p("x", "y", "z"))), b(set(p("x2", "y2", "z2"), p("x3", "y3", "z3"))))),
		},
	})
}

func TestProposedNestedAttributes(t *testing.T) {
	computed := []*schema.Attribute{{Name: "c", Type: cty.String, Computed: true}, {Name: "oc", Type: cty.String, Optional: true, Computed: true}}
	chosen := object(values{"c": str("z"), "oc": str("y")})
	prior, kept := item(str("x"), str("y"), str("z")), item(str("new"), str("y"), str("z"))
	config := item(str("new"), null, null)
	typ := itemBlock().Type()
	all := itemAttributes()
	inner := append(computed, nestedAttribute("n", schema.List, true, all...))
	noInner := cty.NullVal(cty.List(typ))
	deep := func(n cty.Value) cty.Value { return object(values{"c": str("z"), "oc": str("y"), "n": n}) }
	readOnly := nested(schema.List, true, all...)
	readOnly.Attributes[0].Optional = false
	odd := nested(schema.List, false, dynamicBlock().Attributes...) // Terraform refuses this schema, but does not say how
	none, one := cty.NullVal(cty.DynamicPseudoType), cty.NumberIntVal(1)
	runProposals(t, map[string]proposal{
		"Single":  {block: nested(schema.Single, false, all...), prior: a(prior), config: a(config), want: a(kept)},
		"List":    {block: nested(schema.List, true, all...), prior: a(list(prior)), config: a(list(config, config)), want: a(list(kept, config))},
		"Set":     {block: nested(schema.Set, true, all...), prior: a(set(prior)), config: a(set(item(str("x"), null, null))), want: a(set(prior))},
		"Removed": {block: nested(schema.Single, false, all...), prior: a(prior), config: a(cty.NullVal(typ)), want: a(cty.NullVal(typ))},
		"Map": {
			block: nested(schema.Map, false, all...), prior: a(cty.MapVal(values{"k": prior})),
			config: a(cty.MapVal(values{"k": config})), want: a(cty.MapVal(values{"k": kept})),
		},
		"Unknown": {
			reason: "An unknown attribute stays unknown as a whole.",
			block:  nested(schema.List, true, all...), prior: a(list(prior)),
			config: a(cty.UnknownVal(cty.List(typ))), want: a(cty.UnknownVal(cty.List(typ))),
		},
		"ComputedOnly": {
			reason: "What only the provider sets is kept, whatever is in it.",
			block:  readOnly, prior: a(list(prior)), config: a(cty.NullVal(cty.List(typ))), want: a(list(prior)),
		},
		"NotConfigured": {
			reason: "An optional attribute that the provider filled is kept.",
			block:  nested(schema.List, true, computed...), prior: a(list(chosen)),
			config: a(cty.NullVal(cty.List(chosen.Type()))), want: a(list(chosen)),
		},
		"ConfiguredBefore": {
			reason: "A prior value in which something cannot be computed was configured: the user has removed it.",
			block:  nested(schema.List, true, all...), prior: a(list(prior)),
			config: a(cty.NullVal(cty.List(typ))), want: a(cty.NullVal(cty.List(typ))),
		},
		"ConfiguredBeforeDeeper": {
			block: nested(schema.Single, true, inner...), prior: a(deep(list(prior))),
			config: a(cty.NullVal(deep(noInner).Type())), want: a(cty.NullVal(deep(noInner).Type())),
		},
		"NotConfiguredDeeper": {
			block: nested(schema.Single, true, inner...), prior: a(deep(list(item(null, str("y"), str("z"))))),
			config: a(cty.NullVal(deep(noInner).Type())), want: a(deep(list(item(null, str("y"), str("z"))))),
		},
		"TypesThatNoListCanHave": {
			reason: "Without prior values all items have the type of the configuration.",
			block:  odd, prior: a(list(dynamic(one, str("z")))), config: a(list(dynamic(one, none), dynamic(one, none))),
			want: a(list(dynamic(one, none), dynamic(one, none))),
		},
	})
}

func TestEmpty(t *testing.T) {
	block := itemBlock()
	typ := block.Type()
	all := &schema.Block{Attributes: block.Attributes[:1], Blocks: []*schema.NestedBlock{
		{Name: "single", Nesting: schema.Single, Block: block}, {Name: "group", Nesting: schema.Group, Block: block},
		{Name: "list", Nesting: schema.List, Block: block}, {Name: "set", Nesting: schema.Set, Block: block},
		{Name: "map", Nesting: schema.Map, Block: block},
		{Name: "tuple", Nesting: schema.List, Block: dynamicBlock()}, {Name: "object", Nesting: schema.Map, Block: dynamicBlock()},
	}}
	want := object(values{
		"o": null, "single": cty.NullVal(typ), "group": item(null, null, null), "list": cty.ListValEmpty(typ), "set": cty.SetValEmpty(typ),
		"map": cty.MapValEmpty(typ), "tuple": cty.EmptyTupleVal, "object": cty.EmptyObjectVal,
	})
	if got := all.Empty(); !got.RawEquals(want) {
		t.Errorf("got %#v\nwant %#v", got, want)
	}
}
