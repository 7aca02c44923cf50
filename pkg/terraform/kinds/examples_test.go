// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/schema/schematest"
)

func attribute(name string, t cty.Type, change ...func(*schema.Attribute)) *schema.Attribute {
	a := &schema.Attribute{Name: name, Type: t, Optional: true}
	for _, c := range change {
		c(a)
	}
	return a
}

func required(a *schema.Attribute)  { a.Required, a.Optional = true, false }
func computed(a *schema.Attribute)  { a.Computed, a.Optional = true, false }
func sensitive(a *schema.Attribute) { a.Sensitive = true }
func writeOnly(a *schema.Attribute) { a.WriteOnly = true }

func described(text string) func(*schema.Attribute) {
	return func(a *schema.Attribute) { a.Description = text }
}

func deprecated(message string) func(*schema.Attribute) {
	return func(a *schema.Attribute) { a.Deprecated, a.DeprecationMessage = true, message }
}

func nested(n schema.Nesting, of ...*schema.Attribute) func(*schema.Attribute) {
	return func(a *schema.Attribute) { a.Nested, a.Type = &schema.Object{Attributes: of, Nesting: n}, cty.NilType }
}

func block(name string, n schema.Nesting, least, most int, of ...*schema.Attribute) *schema.NestedBlock {
	return &schema.NestedBlock{Name: name, Nesting: n, MinItems: least, MaxItems: most, Block: &schema.Block{Attributes: of}}
}

// berth has something of everything.
func berth() *schema.Block {
	return &schema.Block{
		Description: "A place for a ship.",
		Attributes: []*schema.Attribute{
			attribute("id", cty.String, computed),
			attribute("name", cty.String, required, described("Name of the berth.")),
			attribute("max_size", cty.Number, required),
			attribute("namespace", cty.String, required),
			attribute("open", cty.Bool, deprecated("use status"), described("Whether it is open.")),
			attribute("ready_at", cty.String, computed, described("When it became ready.")),
			attribute("tags", cty.Map(cty.String)),
			attribute("a1", cty.String), attribute("a_1", cty.String),
			attribute("password", cty.String, sensitive, required),
			attribute("pin", cty.Number, sensitive), attribute("armed", cty.Bool, sensitive), attribute("keys", cty.Map(cty.String), sensitive),
			attribute("token_wo", cty.String, writeOnly),
			attribute("private_key", cty.String, sensitive, computed),
			attribute("image_secret_ref", cty.String),
			attribute("anything", cty.DynamicPseudoType),
			attribute("pair", cty.Tuple([]cty.Type{cty.String, cty.Number})),
			attribute("limits", cty.Object(map[string]cty.Type{"max_age": cty.Number, "zones": cty.Set(cty.String)})),
			attribute("routes", cty.NilType, nested(schema.Map, attribute("next_hop", cty.String, required), attribute("hop_count", cty.Number, required))),
		},
		Blocks: []*schema.NestedBlock{
			block("scaling", schema.List, 1, 1, attribute("min_size", cty.Number, required), attribute("desired_size", cty.Number, required)),
			block("ingress", schema.Set, 0, 8, attribute("from_port", cty.Number, required), attribute("vpc_id", cty.String, required),
				attribute("auth_token", cty.String, required, sensitive)),
			block("option", schema.List, 2, 0, attribute("value", cty.DynamicPseudoType)),
			block("timeouts", schema.Single, 0, 0, attribute("create", cty.String)),
			block("defaults", schema.Group, 0, 0, attribute("time_zone", cty.String)),
			block("label", schema.Map, 0, 0, attribute("value_text", cty.String)),
		},
	}
}

// unusual has collections of any type, of which there are no random values.
const unusual = "reef_unusual"

// largest has thousands of fields.
const largest = "reef_type_n0"

// nasty are types that an API server may refuse.
func nasty() map[string]*schema.Block {
	reserved := &schema.Block{}
	for _, name := range []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
		"package", "namespace", "return", "var", "void", "while", "self", "old_self", "api_version", "kind", "metadata", "_id", "a__b", "a_b", "aB", "id_", "3d",
		"api-key", "x.y", "items", "properties", "type", "has", "size", "string", "int", "int64"} {
		reserved.Attributes = append(reserved.Attributes, attribute(name, cty.String, required))
	}
	ofType := func(types ...cty.Type) *schema.Block {
		b := &schema.Block{}
		for i, t := range types {
			b.Attributes = append(b.Attributes, attribute(fmt.Sprintf("value_%c", 'a'+i), t, required))
		}
		return b
	}
	anything := ofType(cty.DynamicPseudoType, cty.Tuple([]cty.Type{cty.String, cty.Bool}), cty.List(cty.Map(cty.Set(cty.Number))),
		cty.Object(map[string]cty.Type{"any": cty.DynamicPseudoType}), cty.EmptyObject, cty.EmptyTuple)
	deep := &schema.Block{Attributes: []*schema.Attribute{attribute("leaf", cty.String, required)}}
	for i := range 12 {
		deep = &schema.Block{Blocks: []*schema.NestedBlock{{Name: fmt.Sprintf("level_%c", 'a'+i), Nesting: schema.List, MinItems: 1, MaxItems: i % 2, Block: deep}}}
	}
	described := &schema.Block{Deprecated: true, Description: strings.Repeat("Ünïcode *and* `markdown`, ", 200)}
	for i := range 200 {
		described.Attributes = append(described.Attributes, attribute(fmt.Sprintf("field_%c%c", 'a'+i/20, 'a'+i%20), cty.String, required, sensitive,
			func(a *schema.Attribute) { a.Description = strings.Repeat("A long sentence, with an end. ", 100) }))
	}
	return map[string]*schema.Block{"reef_berth": berth(), "reef_reserved": reserved, "reef_anything": anything,
		unusual: ofType(cty.List(cty.DynamicPseudoType), cty.Map(cty.DynamicPseudoType)), "reef_deep": deep, "reef_described": described,

		"reef_empty": {}, "reef_prefix_list": {}, "reef_" + strings.Repeat("long_", 20) + "name": {}}
}

// public returns types of the number and size that a large public provider has: most have some dozens of fields, and some have thousands.
func public(n int) map[string]*schema.Block {
	r := rand.New(rand.NewPCG(16, uint64(n)))
	types := nasty()
	for i := 0; len(types) < n; i++ {
		blocks := 1 + r.IntN(4)
		if i%100 == 0 {
			blocks = 60
		}
		b := schematest.Schema(r).Block
		for j := range blocks {
			part := schematest.Schema(r).Block
			b.Blocks = append(b.Blocks, &schema.NestedBlock{Name: fmt.Sprintf("part_%03d", j), Nesting: schema.List, MaxItems: j % 2, MinItems: j % 3 / 2, Block: part})
		}
		types[fmt.Sprintf("reef_type_n%d", i)] = b
	}
	return types
}
