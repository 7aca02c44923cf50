// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Declare is the reverse of Config: it returns what an object of the API declares for a configuration, and the Secrets that it refers to.
func Declare(b *schema.Block, config cty.Value) (map[string]any, map[string][]byte) {
	d := declarer{}
	declared, _ := d.declare(shapeOfBlock(b), "", config).(map[string]any)
	return declared, d
}

type declarer map[string][]byte

func (d declarer) declare(s shape, at string, v cty.Value) any {
	switch {
	case v.IsNull():
		return nil
	case s.form == scalar || s.form == dynamic:
		return plain(v)
	case s.form == object:
		fields := map[string]any{}
		for _, f := range s.fields() {
			value, at := v.GetAttr(f.attribute), Child(at, f.name)
			if f.secret && !value.IsNull() {
				d[at] = secretOf(f.shape, value)
				fields[f.name] = map[string]any{"name": "secret", "namespace": "default", "key": "key"}
			} else if declared := d.declare(f.shape, at, value); declared != nil && !f.secret {
				fields[f.name] = declared
			}
		}
		return fields
	case s.form == mapping:
		items := map[string]any{}
		for key, value := range v.Elements() {
			items[key.AsString()] = d.declare(*s.item, Child(at, key.AsString()), value)
		}
		return items
	}
	items := []any{}
	for key, value := range v.Elements() {
		items = append(items, d.declare(s.element(key), Item(at, len(items)), value))
	}
	return items
}

func secretOf(s shape, v cty.Value) []byte {
	if s.form == scalar && s.cty == cty.String {
		return []byte(v.AsString())
	}
	data, err := json.Marshal(plain(v))
	if err != nil {
		panic(err)
	}
	return data
}

// plain returns a value as JSON, with the names of Terraform.
func plain(v cty.Value) any {
	switch t := v.Type(); {
	case v.IsNull():
		return nil
	case t.IsPrimitiveType():
		return showScalar(v)
	case t.IsObjectType() || t.IsMapType():
		items := map[string]any{}
		for key, value := range v.Elements() {
			if p := plain(value); p != nil {
				items[key.AsString()] = p
			}
		}
		return items
	}
	items := []any{}
	for _, value := range v.Elements() {
		items = append(items, plain(value))
	}
	return items
}
