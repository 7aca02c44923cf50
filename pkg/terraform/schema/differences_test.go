// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

type difference struct {
	Path                string
	Before, After       string
	Sensitive, Computed bool
}

type differenceCase struct {
	reason        string
	block         *schema.Block
	before, after cty.Value
	want          []difference
}

func checkDifferences(t *testing.T, cases map[string]differenceCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []difference
			for _, d := range tc.block.Differences(tc.before, tc.after) {
				got = append(got, difference{schema.FormatPath(d.Path), text(d.Before), text(d.After), d.Sensitive, d.Computed})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func text(v cty.Value) string { return v.GoString() }

// hidden is a block with a secret, and hide a value of it.
var hidden = &schema.Block{Attributes: []*schema.Attribute{
	{Name: "x", Type: cty.String, Optional: true, Computed: true}, {Name: "secret", Type: cty.Map(cty.String), Optional: true, Sensitive: true},
}}

func hide(x, secret string) cty.Value {
	return object(values{"x": str(x), "secret": cty.MapVal(values{"k": str(secret)})})
}

// blockX and blockY are values of itemBlock.
var blockX, blockY = item(str("x"), null, null), item(str("y"), null, null)

func TestDifferences(t *testing.T) {
	block, nothing := itemBlock(), cty.NullVal(cty.String)
	value := func(t cty.Type) *schema.Block {
		return &schema.Block{Attributes: []*schema.Attribute{{Name: "a", Type: t, Optional: true}}}
	}
	x, y, z := blockX, blockY, item(str("x"), null, str("z"))
	checkDifferences(t, map[string]differenceCase{
		"None":      {block: block, before: x, after: x},
		"Attribute": {block: block, before: x, after: y, want: []difference{{Path: "o", Before: text(str("x")), After: text(str("y"))}}},
		"Computed": {
			block: block, before: x, after: z, want: []difference{{Path: "c", Before: text(nothing), After: text(str("z")), Computed: true}},
		},
		"Unknown": {
			reason: "What is not known yet may differ.",
			block:  block, before: z, after: item(str("x"), null, unknown),
			want: []difference{{Path: "c", Before: text(str("z")), After: text(unknown), Computed: true}},
		},
		"ByName": {
			reason: "Attributes are in the order of their names, and come before blocks.",
			block: &schema.Block{
				Attributes: block.Attributes, Blocks: []*schema.NestedBlock{
					{Name: "b", Nesting: schema.Group, Block: block}, {Name: "a", Nesting: schema.Group, Block: block}},
			},
			before: object(values{"o": null, "oc": null, "c": null, "a": x, "b": x}),
			after:  object(values{"o": str("1"), "oc": null, "c": str("2"), "a": y, "b": y}),
			want: []difference{
				{Path: "c", Before: text(null), After: text(str("2")), Computed: true}, {Path: "o", Before: text(null), After: text(str("1"))},
				{Path: "a.o", Before: text(str("x")), After: text(str("y"))}, {Path: "b.o", Before: text(str("x")), After: text(str("y"))},
			},
		},
		"NullAttribute": {
			reason: "An attribute that is empty is set.",
			block:  value(cty.List(cty.String)), before: a(cty.NullVal(cty.List(cty.String))), after: a(cty.ListValEmpty(cty.String)),
			want: []difference{{Path: "a", Before: text(cty.NullVal(cty.List(cty.String))), After: text(cty.ListValEmpty(cty.String))}},
		},
		"NullMapItem": {
			reason: "A key without a value is not the same as no key.",
			block:  value(cty.Map(cty.String)), before: a(cty.MapVal(values{"k": str("x"), "n": null})), after: a(cty.MapVal(values{"k": str("x")})),
			want: []difference{{Path: `a["n"]`, Before: text(null), After: text(null)}},
		},
		"InDynamic": {
			block: value(cty.DynamicPseudoType), before: a(object(values{"p": tuple(str("x"), str("y"))})), after: a(object(values{"p": tuple(str("x"))})),
			want: []difference{{Path: "a.p[1]", Before: text(str("y")), After: text(null)}},
		},
		"OtherDynamicType": {
			block: value(cty.DynamicPseudoType), before: a(tuple(str("x"))), after: a(list(str("x"))),
			want: []difference{{Path: "a", Before: text(tuple(str("x"))), After: text(list(str("x")))}},
		},
		"NullsOfDynamicTypes": {
			block: value(cty.DynamicPseudoType), before: a(cty.NullVal(cty.DynamicPseudoType)), after: a(null),
		},
	})
}

func TestDifferencesOfBlocks(t *testing.T) {
	block, x, y := itemBlock(), blockX, blockY
	typ := block.Type()
	checkDifferences(t, map[string]differenceCase{
		"ListItem": {
			block: blocks(schema.List, block), before: b(list(x, x)), after: b(list(x, y)),
			want: []difference{{Path: "b[1].o", Before: text(str("x")), After: text(str("y"))}},
		},
		"ListAdded": {
			block: blocks(schema.List, block), before: b(list(x)), after: b(list(x, y)),
			want: []difference{{Path: "b[1]", Before: text(cty.NullVal(typ)), After: text(y)}},
		},
		"MapRemoved": {
			reason: "A block that is removed has no other value.",
			block:  blocks(schema.Map, hidden), before: b(cty.MapVal(values{"k": hide("1", "2")})), after: b(cty.MapValEmpty(hidden.Type())),
			want: []difference{{Path: `b["k"]`, Before: text(hide("1", "2")), After: text(cty.NullVal(hidden.Type())), Sensitive: true}},
		},
		"Set": {
			reason: "The elements of a set have no place of their own.",
			block:  blocks(schema.Set, hidden), before: b(set(hide("1", "2"))), after: b(set(hide("1", "3"))),
			want: []difference{{Path: "b", Before: text(set(hide("1", "2"))), After: text(set(hide("1", "3"))), Sensitive: true}},
		},
		"SingleRemoved": {
			block: blocks(schema.Single, hidden), before: b(hide("1", "2")), after: b(cty.NullVal(hidden.Type())),
			want: []difference{{Path: "b", Before: text(hide("1", "2")), After: text(cty.NullVal(hidden.Type())), Sensitive: true}},
		},
		"NoBlocks": {
			reason: "Without any block a value is null or empty, as the provider likes.",
			block:  blocks(schema.List, block), before: b(cty.NullVal(cty.List(typ))), after: b(cty.ListValEmpty(typ)),
		},
		"NoDynamicBlocks": {
			block: blocks(schema.Map, dynamicBlock()), before: b(cty.NullVal(cty.DynamicPseudoType)), after: b(cty.EmptyObjectVal),
		},
	})
}

func TestDifferencesAreSensitive(t *testing.T) {
	around := nested(schema.List, true, itemAttributes()...)
	around.Attributes[0].Sensitive = true
	checkDifferences(t, map[string]differenceCase{
		"State": {block: hidden, before: cty.NullVal(hidden.Type()), after: hide("1", "2"), want: []difference{
			{Path: "", Before: text(cty.NullVal(hidden.Type())), After: text(hide("1", "2")), Sensitive: true},
		}},
		"SensitiveDeepInSet": {
			block:  blocks(schema.Set, blocks(schema.Single, hidden)),
			before: b(set(b(hide("1", "2")))), after: b(cty.SetValEmpty(cty.Object(map[string]cty.Type{"b": hidden.Type()}))),
			want: []difference{{
				Path: "b", Before: text(set(b(hide("1", "2")))),
				After: text(cty.SetValEmpty(cty.Object(map[string]cty.Type{"b": hidden.Type()}))), Sensitive: true,
			}},
		},
		"SensitiveDeepInAttribute": {
			block: blocks(schema.Set, nested(schema.Single, false, hidden.Attributes...)), before: b(set(a(hide("1", "2")))), after: b(set(a(hide("1", "3")))),
			want: []difference{{Path: "b", Before: text(set(a(hide("1", "2")))), After: text(set(a(hide("1", "3")))), Sensitive: true}},
		},
		"Sensitive": {
			block: blocks(schema.Single, hidden), before: b(hide("1", "2")), after: b(hide("1", "3")),
			want: []difference{{Path: `b.secret["k"]`, Before: text(str("2")), After: text(str("3")), Sensitive: true}},
		},
		"NotSensitive": {
			block: blocks(schema.Single, hidden), before: b(hide("1", "2")), after: b(hide("0", "2")),
			want: []difference{{Path: "b.x", Before: text(str("1")), After: text(str("0")), Computed: true}},
		},
		"SensitiveAround": {
			block: around, before: a(list(blockX)), after: a(list(blockY)),
			want: []difference{{Path: "a[0].o", Before: text(str("x")), After: text(str("y")), Sensitive: true, Computed: true}},
		},
	})
}

func TestCovers(t *testing.T) {
	element := cty.GetAttrPath("set").Index(object(values{"x": str("y")})).GetAttr("x")
	cases := map[string]struct {
		required, at cty.Path
		want         bool
	}{
		"At":         {cty.GetAttrPath("a").IndexInt(0), cty.GetAttrPath("a").IndexInt(0), true},
		"In":         {cty.GetAttrPath("a"), cty.GetAttrPath("a").IndexInt(0).GetAttr("x"), true},
		"Around":     {cty.GetAttrPath("a").IndexString("k"), cty.GetAttrPath("a"), true},
		"SetElement": {element, cty.GetAttrPath("set"), true},
		"Everything": {cty.GetAttrPath("a"), nil, true},
		"KeyOrName":  {cty.GetAttrPath("a").IndexString("k"), cty.GetAttrPath("a").GetAttr("k"), true},
		"OtherIndex": {cty.GetAttrPath("a").IndexInt(0), cty.GetAttrPath("a").IndexInt(1), false},
		"OtherKey":   {cty.GetAttrPath("a").IndexString("k"), cty.GetAttrPath("a").IndexString("l"), false},
		"OtherName":  {cty.GetAttrPath("a"), cty.GetAttrPath("b"), false},
		"LongerName": {cty.GetAttrPath("a"), cty.GetAttrPath("ab"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := schema.Covers([]cty.Path{cty.GetAttrPath("other"), tc.required}, schema.Difference{Path: tc.at}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if schema.Covers(nil, schema.Difference{}) {
		t.Error("nothing requires replacement, but a difference is covered")
	}
}

func TestFormatPath(t *testing.T) {
	cases := map[string]cty.Path{
		"":                      nil,
		"name":                  cty.GetAttrPath("name"),
		"ingress[0].from_port":  cty.GetAttrPath("ingress").IndexInt(0).GetAttr("from_port"),
		`tags["a \"b\""]`:       cty.GetAttrPath("tags").IndexString(`a "b"`),
		"set[*].x":              cty.GetAttrPath("set").Index(object(values{"password": str("secret")})).GetAttr("x"),
		"set[*]":                cty.GetAttrPath("set").Index(unknown),
		"many[1234567]":         cty.GetAttrPath("many").IndexInt(1234567),
		`blocks["k"].list[2].x`: cty.GetAttrPath("blocks").IndexString("k").GetAttr("list").IndexInt(2).GetAttr("x"),
	}
	for want, path := range cases {
		if got := schema.FormatPath(path); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
