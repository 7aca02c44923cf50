// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// What only the creation set stays as it is, and no configuration sets what the provider alone chooses (R139, R143).
func TestKeep_R143(t *testing.T) {
	t.Parallel()
	attribute := func(of cty.Type) *schema.Block {
		return &schema.Block{Attributes: []*schema.Attribute{{Name: "a", Type: of, Optional: true}}}
	}
	secret := &schema.Block{Attributes: []*schema.Attribute{{Name: "a", Type: cty.String, Optional: true, WriteOnly: true}}}
	texts := func(pairs ...string) cty.Value {
		values := values{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = str(pairs[i+1])
		}
		return a(cty.MapVal(values))
	}
	pair := func(x, y cty.Value) cty.Value { return object(values{"x": x, "y": y}) }
	pairs := cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.String})
	nothing := func(of cty.Type) cty.Value { return a(cty.NullVal(of)) }
	items := cty.Object(map[string]cty.Type{"o": cty.String, "oc": cty.String, "c": cty.String})
	mine, created, had, kept := item(str("x"), null, null), item(str("x"), str("y"), null), item(str("X"), str("Y"), str("Z")), item(str("x"), str("Y"), null)
	whole := item(str("X"), str("Y"), null)
	for name, tc := range map[string]struct {
		block                        *schema.Block
		config, created, prior, want cty.Value
	}{
		"an attribute":        {itemBlock(), mine, created, had, kept},
		"nothing at creation": {itemBlock(), mine, mine, had, mine},
		"a secret at creation that is not read again": {itemBlock(), mine, item(str("x"), unknown, null), had, kept},
		"what is never returned":                      {secret, a(null), a(str("x")), a(null), a(null)},
		"keys of a map": {attribute(cty.Map(cty.String)), texts("mine", "1"), texts("mine", "1", "created", "2", "gone", "3"),
			texts("mine", "0", "created", "4", "other", "5"), texts("mine", "1", "created", "4")},
		"a map":  {attribute(cty.Map(cty.String)), nothing(cty.Map(cty.String)), texts("created", "2"), texts("created", "4"), texts("created", "4")},
		"a list": {attribute(cty.List(cty.String)), a(list(str("x"))), a(list(str("x"))), a(list(str("y"))), a(list(str("x")))},
		"fields of an object": {attribute(pairs), a(pair(str("x"), null)), a(pair(str("x"), str("y"))), a(pair(str("X"), str("Y"))),
			a(pair(str("x"), str("Y")))},
		"objects of a list": {attribute(cty.List(pairs)), a(list(pair(str("x"), null))), a(list(pair(str("x"), str("y")), pair(null, str("z")))),
			a(list(pair(str("X"), str("Y")), pair(str("Z"), str("Z")))), a(list(pair(str("x"), str("Y")), pair(str("Z"), str("Z"))))},
		"objects of a set": {attribute(cty.Set(pairs)), a(set(pair(str("x"), null))), a(set(pair(str("x"), str("y")))), a(set(pair(str("x"), str("Y")))),
			a(set(pair(str("x"), str("y"))))},
		"a value of any type": {attribute(cty.DynamicPseudoType), a(pair(str("x"), null)), a(object(values{"x": str("x"), "z": str("z")})), a(str("y")),
			a(object(values{"x": str("x"), "z": str("z")}))},
		"a nested attribute":                {nested(schema.Single, false, itemAttributes()...), a(mine), a(created), a(had), a(kept)},
		"a nested attribute of creation":    {nested(schema.Single, false, itemAttributes()...), nothing(items), a(created), a(had), a(whole)},
		"a nested attribute that is gone":   {nested(schema.Single, false, itemAttributes()...), nothing(items), a(created), nothing(items), nothing(items)},
		"nested attributes":                 {nested(schema.List, false, itemAttributes()...), a(list(mine)), a(list(created, created)), a(list(had, had)), a(list(kept, whole))},
		"nested attributes that are gone":   {nested(schema.List, false, itemAttributes()...), a(list(mine)), a(list(mine, created)), a(list(had)), a(list(mine))},
		"nested attributes of creation":     {nested(schema.List, false, itemAttributes()...), nothing(cty.List(items)), a(list(created)), a(list(had)), a(list(whole))},
		"a set of creation":                 {nested(schema.Set, false, itemAttributes()...), nothing(cty.Set(items)), a(set(created)), a(set(had)), a(set(whole))},
		"a set of both":                     {nested(schema.Set, false, itemAttributes()...), a(set(mine)), a(set(created)), a(set(had)), a(set(created))},
		"nested attributes by key":          {nested(schema.Map, false, itemAttributes()...), a(cty.MapVal(values{"k": mine})), a(cty.MapVal(values{"k": created, "l": created})), a(cty.MapVal(values{"k": had, "l": had, "m": had})), a(cty.MapVal(values{"k": kept, "l": whole}))},
		"a block":                           {blocks(schema.Single, itemBlock()), b(mine), b(created), b(had), b(kept)},
		"blocks":                            {blocks(schema.List, itemBlock()), b(list(mine)), b(list(created, created)), b(list(had, had)), b(list(kept, whole))},
		"blocks of creation":                {blocks(schema.List, itemBlock()), b(cty.ListValEmpty(items)), b(list(created)), b(list(had)), b(list(whole))},
		"a set of blocks of creation":       {blocks(schema.Set, itemBlock()), b(cty.SetValEmpty(items)), b(set(created)), b(set(had)), b(set(whole))},
		"a set of blocks that are all gone": {blocks(schema.Set, itemBlock()), b(cty.SetValEmpty(items)), b(set(created)), b(cty.SetValEmpty(items)), b(cty.SetValEmpty(items))},
		"blocks of several types": {blocks(schema.List, dynamicBlock()), b(tuple(dynamic(str("x"), cty.NullVal(cty.DynamicPseudoType)))),
			b(tuple(dynamic(str("x"), cty.NullVal(cty.DynamicPseudoType)), dynamic(cty.True, cty.NullVal(cty.DynamicPseudoType)))),
			b(tuple(dynamic(str("x"), str("c")), dynamic(cty.False, str("c")))),
			b(tuple(dynamic(str("x"), cty.NullVal(cty.DynamicPseudoType)), dynamic(cty.False, cty.NullVal(cty.DynamicPseudoType))))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.block.Keep(tc.config, tc.created, tc.prior)
			if !got.RawEquals(tc.want) {
				t.Errorf("\n got %#v\nwant %#v", got, tc.want)
			}
			if errs := got.Type().TestConformance(tc.block.Type()); errs != nil {
				t.Errorf("the result is not of the block's type: %v", errs)
			}
		})
	}
}
