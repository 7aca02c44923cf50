// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Object returns what the API shows of a state: all but secrets, and what is null or not known. Blocks without items are left out.
func Object(b *schema.Block, state cty.Value) map[string]any {
	shown, _ := show(shapeOfBlock(b), state).(map[string]any)
	return shown
}

// show returns nil for what the API does not show.
func show(s shape, v cty.Value) any {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch s.form {
	case scalar:
		return showScalar(v)
	case dynamic:
		return show(shapeOfAny(v), v)
	case object:
		fields := map[string]any{}
		for _, f := range s.fields() {
			value := v.GetAttr(f.attribute)
			if shown := show(f.shape, value); shown != nil && !f.secret && !(f.isBlock && f.form != object && value.LengthInt() == 0) {
				fields[f.name] = shown
			}
		}
		return fields
	case mapping:
		items := map[string]any{}
		for key, value := range v.Elements() {
			if shown := show(*s.item, value); shown != nil {
				items[key.AsString()] = shown
			}
		}
		return items
	}
	items := []any{}
	for key, value := range v.Elements() {
		if shown := show(s.element(key), value); shown != nil {
			items = append(items, shown)
		}
	}
	return items
}

// shapeOfAny returns the shape of a value whose type the schema does not have. Its names stay as they are.
func shapeOfAny(v cty.Value) shape {
	switch t := v.Type(); {
	case t.IsPrimitiveType():
		return shape{form: scalar, cty: t}
	case t.IsObjectType() || t.IsMapType():
		return shape{form: mapping, item: &shape{form: dynamic}}
	}
	return shape{form: list, item: &shape{form: dynamic}}
}

func showScalar(v cty.Value) any {
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Bool:
		return v.True()
	}
	n := v.AsBigFloat()
	if i, accuracy := n.Int64(); accuracy == big.Exact {
		return i
	}
	f, _ := n.Float64()
	if math.IsInf(f, 0) { // which JSON cannot express
		return nil
	}
	return f
}

var noSecretKey = regexp.MustCompile(`[^-._a-zA-Z0-9]`)

const longestSecretKey = 253

// Connection returns the secret values of a state by keys such as password and node.0.password, and the others below the keys of also. Values
// of collections have a key each; empty ones have none.
func Connection(b *schema.Block, state cty.Value, also ...string) map[string][]byte {
	details := map[string][]byte{}
	eachText(shapeOfBlock(b), state, "", false, func(key, text string, secret bool) {
		chosen := slices.ContainsFunc(also, func(a string) bool { return key == a || strings.HasPrefix(key, a+".") })
		if text == "" || !secret && !chosen {
			return
		}
		if key = noSecretKey.ReplaceAllString(key, "_"); len(key) > longestSecretKey {
			key = key[:longestSecretKey-9] + "_" + hash(key)
		}
		if _, taken := details[key]; !taken {
			details[key] = []byte(text)
		}
	})
	return details
}

// CheckConnectionKey returns an error for a key that Connection finds in no state of a block.
func CheckConnectionKey(b *schema.Block, key string) error {
	s, at := shapeOfBlock(b), ""
	for name := range strings.SplitSeq(key, ".") {
		number, err := strconv.ParseUint(name, 10, 31)
		switch {
		case s.form == object:
			fields := slices.DeleteFunc(s.fields(), func(f field) bool { return f.writeOnly })
			i := slices.IndexFunc(fields, func(f field) bool { return f.plainName() == name })
			if i < 0 {
				var keys []string
				for _, f := range fields {
					keys = append(keys, strings.TrimPrefix(at+"."+f.plainName(), "."))
				}
				return fmt.Errorf("there is no %s, but %s", key, strings.Join(keys, ", "))
			}
			s = fields[i].shape
		case s.form == mapping || s.form == dynamic: // whose keys no schema has
			return nil
		case s.form == scalar || err != nil:
			return fmt.Errorf("there is no %s: %s has no fields, and elements of lists are numbers, such as %s.0", key, at, at)
		default:
			s = s.element(cty.NumberUIntVal(number))
		}
		at = strings.TrimPrefix(at+"."+name, ".")
	}
	return nil
}

func eachText(s shape, v cty.Value, key string, secret bool, do func(key, text string, secret bool)) {
	if v.IsNull() || !v.IsKnown() {
		return
	}
	below := func(name string) string { return strings.TrimPrefix(key+"."+name, ".") }
	if s.form == dynamic {
		s = shapeOfAny(v)
	}
	switch s.form {
	case scalar:
		do(key, text(v), secret)
		return
	case object:
		for _, f := range s.fields() {
			eachText(f.shape, v.GetAttr(f.attribute), below(f.plainName()), secret || f.secret, do)
		}
		return
	}
	i := 0
	for at, value := range v.Elements() {
		name := strconv.Itoa(i)
		if s.form == mapping {
			name = at.AsString()
		}
		eachText(s.element(at), value, below(name), secret, do)
		i++
	}
}

func text(v cty.Value) string {
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return v.AsBigFloat().Text('f', -1)
}
