// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// DecodeSchema decodes one of GetSchema_Response.ResourceSchemas.
func DecodeSchema(encoded []byte) (*schema.Schema, error) {
	message := &Schema{}
	if err := proto.Unmarshal(encoded, message); err != nil {
		return nil, fmt.Errorf("decoding a schema: %w", err)
	}
	return message.Decoded()
}

// Decoded returns the schema in the form of both versions.
func (x *Schema) Decoded() (*schema.Schema, error) {
	block, err := x.GetBlock().decoded()
	return &schema.Schema{Version: x.GetVersion(), Block: block}, err
}

func (x *Schema_Block) decoded() (*schema.Block, error) {
	b := &schema.Block{Description: x.GetDescription(), Deprecated: x.GetDeprecated()}
	var err error
	if b.Attributes, err = decodeAttributes(x.GetAttributes()); err != nil {
		return nil, err
	}
	for _, nested := range x.GetBlockTypes() {
		inner, err := nested.GetBlock().decoded()
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", nested.GetTypeName(), err)
		}
		b.Blocks = append(b.Blocks, &schema.NestedBlock{Name: nested.GetTypeName(), Block: inner, Nesting: schema.Nesting(nested.GetNesting()),
			MinItems: int(nested.GetMinItems()), MaxItems: int(nested.GetMaxItems())})
	}
	return b, nil
}

func decodeAttributes(all []*Schema_Attribute) (decoded []*schema.Attribute, err error) {
	for _, x := range all {
		a, err := x.decoded()
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", x.GetName(), err)
		}
		decoded = append(decoded, a)
	}
	return decoded, nil
}

func (x *Schema_Attribute) decoded() (*schema.Attribute, error) {
	a := &schema.Attribute{Name: x.GetName(), Type: cty.NilType, Description: x.GetDescription(), Required: x.GetRequired(),
		Optional: x.GetOptional(), Computed: x.GetComputed(), Sensitive: x.GetSensitive(), Deprecated: x.GetDeprecated()}
	if err := x.decodeLater(a); err != nil {
		return nil, err
	}
	if a.Nested != nil {
		return a, nil
	}
	if err := json.Unmarshal(x.GetType(), &a.Type); err != nil {
		return nil, fmt.Errorf("its type: %w", err)
	}
	return a, nil
}

// The fields that differ between the versions differ in their encoding, too. In version 5: 10 write_only, 11 deprecation_message. In version
// 6: 10 nested_type, 11 write_only, 12 deprecation_message.
const (
	fieldTen    protowire.Number = 10
	fieldEleven protowire.Number = 11
	fieldTwelve protowire.Number = 12
)

// decodeLater decodes the fields that have other numbers in another version.
func (x *Schema_Attribute) decodeLater(a *schema.Attribute) error {
	for rest := []byte(x.ProtoReflect().GetUnknown()); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		rest = rest[n:]
		size := protowire.ConsumeFieldValue(number, kind, rest)
		if size < 0 {
			return protowire.ParseError(size)
		}
		switch value := rest[:size]; kind {
		case protowire.VarintType:
			flag, _ := protowire.ConsumeVarint(value)
			if number == fieldTen || number == fieldEleven {
				a.WriteOnly = protowire.DecodeBool(flag)
			}
		case protowire.BytesType:
			content, _ := protowire.ConsumeBytes(value)
			switch number {
			case fieldTen:
				nested := &Schema_Object{}
				if err := proto.Unmarshal(content, nested); err != nil {
					return err
				}
				attributes, err := decodeAttributes(nested.GetAttributes())
				if err != nil {
					return err
				}
				a.Nested = &schema.Object{Attributes: attributes, Nesting: schema.Nesting(nested.GetNesting())}
			case fieldEleven, fieldTwelve:
				a.DeprecationMessage = string(content)
			}
		}
		rest = rest[size:]
	}
	return nil
}
