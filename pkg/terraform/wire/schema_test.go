// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// An encoded field of a message, as a provider sends it.
type encoded []byte

func flag(number protowire.Number, on bool) encoded {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), protowire.EncodeBool(on))
}

func number(number protowire.Number, value uint64) encoded {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), value)
}

func text(number protowire.Number, value string) encoded {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// message is a field with a message of fields.
func message(number protowire.Number, fields ...encoded) encoded {
	return text(number, string(join(fields)))
}

func join(fields []encoded) (all encoded) {
	for _, f := range fields {
		all = append(all, f...)
	}
	return all
}

// Fields of an attribute that both versions have.
func name(is string) encoded { return text(1, is) }

var ofString = text(2, `"string"`)

// schemaOf returns an encoded schema whose block has an attribute.
func schemaOf(attribute ...encoded) []byte { return message(2, message(2, attribute...)) }

func TestAttributesOfBothVersions(t *testing.T) {
	t.Parallel()
	plain := func(change ...func(*schema.Attribute)) *schema.Attribute {
		a := &schema.Attribute{Name: "a", Type: cty.String}
		for _, c := range change {
			c(a)
		}
		return a
	}
	writeOnly := func(a *schema.Attribute) { a.WriteOnly = true }
	deprecated := func(a *schema.Attribute) { a.Deprecated, a.DeprecationMessage = true, "use b" }
	nestedIn := func(n schema.Nesting, of ...*schema.Attribute) func(*schema.Attribute) {
		return func(a *schema.Attribute) { a.Type, a.Nested = cty.NilType, &schema.Object{Attributes: of, Nesting: n} }
	}
	for name, tc := range map[string]struct {
		fields []encoded
		want   *schema.Attribute
	}{
		"what both have": {
			fields: []encoded{text(3, "text"), flag(4, true), flag(5, true), flag(6, true), flag(7, true), number(8, 1)},
			want: plain(func(a *schema.Attribute) {
				a.Description, a.Required, a.Optional, a.Computed, a.Sensitive = "text", true, true, true, true
			}),
		},
		"write-only of version 5":     {fields: []encoded{flag(10, true)}, want: plain(writeOnly)},
		"not write-only of version 5": {fields: []encoded{flag(10, false)}, want: plain()},
		"a deprecation of version 5":  {fields: []encoded{flag(9, true), text(11, "use b")}, want: plain(deprecated)},
		"both of version 5":           {fields: []encoded{flag(9, true), flag(10, true), text(11, "use b")}, want: plain(deprecated, writeOnly)},
		"write-only of version 6":     {fields: []encoded{flag(11, true)}, want: plain(writeOnly)},
		"a deprecation of version 6":  {fields: []encoded{flag(9, true), text(12, "use b")}, want: plain(deprecated)},
		"nested attributes": {
			fields: []encoded{message(10, message(1, text(1, "b"), ofString), number(3, 3)), flag(11, true), flag(9, true), text(12, "use b")},
			want:   plain(writeOnly, deprecated, nestedIn(schema.Set, &schema.Attribute{Name: "b", Type: cty.String})),
		},
		"nested attributes of nested ones": {
			fields: []encoded{message(10, message(1, text(1, "b"), message(10, message(1, text(1, "c"), ofString, flag(11, true)), number(3, 4))), number(3, 1))},
			want: plain(nestedIn(schema.Single, &schema.Attribute{Name: "b", Type: cty.NilType, Nested: &schema.Object{
				Nesting: schema.Map, Attributes: []*schema.Attribute{{Name: "c", Type: cty.String, WriteOnly: true}}}})),
		},
		"no nested attributes": {fields: []encoded{message(10)}, want: plain(nestedIn(0))},
		"later fields":         {fields: []encoded{text(13, "x"), number(14, 3), flag(11, true), {0xfb, 1, 0xfc, 1}}, want: plain(writeOnly)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.DecodeSchema(schemaOf(append([]encoded{text(1, "a"), ofString}, tc.fields...)...))
			if err != nil {
				t.Fatal(err)
			}
			compareTypes := cmp.Comparer(func(a, b cty.Type) bool { return a == b || a != cty.NilType && b != cty.NilType && a.Equals(b) })
			if diff := cmp.Diff([]*schema.Attribute{tc.want}, got.Block.Attributes, compareTypes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeSchemaNamesWhatItCannotDecode(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		encoded []byte
		want    string
	}{
		"no message":               {[]byte{0xff}, "decoding a schema"},
		"half a message":           {schemaOf(name("a"), ofString)[:7], "decoding a schema"},
		"no type":                  {schemaOf(name("a")), "attribute a: its type"},
		"a type that is no JSON":   {schemaOf(name("a"), text(2, "string")), "attribute a: its type"},
		"an unknown type":          {schemaOf(name("a"), text(2, `"uuid"`)), "attribute a: its type"},
		"no nested type":           {schemaOf(name("a"), message(10, message(1, name("b")))), "attribute a: attribute b: its type"},
		"a malformed nested type":  {schemaOf(name("a"), text(10, "\xff")), "attribute a: "},
		"an attribute of a block":  {message(2, message(3, name("b"), message(2, message(2, name("a"))))), "block b: attribute a: its type"},
		"an attribute of a deeper": {message(2, message(3, name("b"), message(2, message(3, name("c"), message(2, message(2, name("a"))))))), "block b: block c: attribute a"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			if _, err := wire.DecodeSchema(tc.encoded); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestDecodeSchemaOfBlocks(t *testing.T) {
	t.Parallel()
	message := &wire.Schema{Version: 7, Block: &wire.Schema_Block{Description: "top", Deprecated: true, BlockTypes: []*wire.Schema_NestedBlock{
		{TypeName: "b", Nesting: 3, MinItems: 1, MaxItems: 2, Block: &wire.Schema_Block{Description: "in b"}}, {TypeName: "none", Nesting: 5}}}}
	data, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeSchema(data)
	want := &schema.Schema{Version: 7, Block: &schema.Block{Description: "top", Deprecated: true, Blocks: []*schema.NestedBlock{
		{Name: "b", Nesting: schema.Set, MinItems: 1, MaxItems: 2, Block: &schema.Block{Description: "in b"}},
		{Name: "none", Nesting: schema.Group, Block: &schema.Block{}}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func FuzzDecodeSchema(f *testing.F) {
	f.Add(schemaOf(name("a"), ofString, message(10, message(1, name("b"), ofString), number(3, 2)), flag(11, true), text(12, "m")))
	f.Add(schemaOf(name("a"), text(2, `["object",{"a":"string"},["a"]]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := wire.DecodeSchema(data); err == nil {
			got.Block.Type() // does not panic
		}
	})
}
