// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// mostReferences is the limit of spec.references.
const mostReferences = 64

// A reference is an item of spec.references.
type reference struct {
	Field      string `json:"field"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Value      string `json:"value,omitempty"`
}

// A declarer turns the state of an instance into what its object declares: arguments that are required, and optional ones that the provider
// does not choose.
type declarer struct {
	of         *instance
	withValues bool                          // of secrets
	selector   func(key string) any          // of the Secret of the object
	refer      func(value string) *reference // nil for a text that is no reference
	references []reference
	keys       []string          // of the Secret
	values     map[string]string // of the keys, if they are known
}

// object returns the fields of an object. Its path is at in the API, and in in Terraform.
func (d *declarer) object(b *schema.Block, v cty.Value, at, in string) map[string]any {
	declared := map[string]any{}
	for _, f := range fieldsOf(b) {
		value, at, in := v.GetAttr(f.argument), child(at, f.name), in+"."+f.argument
		switch {
		case value.IsNull() && !(f.required && f.writeOnly), f.computed && !(f.secret && d.withValues):
		case f.secret:
			declared[f.name] = d.secret(at, value)
		case d.of.isHidden(in, f.inner == nil):
			d.of.notes = append(d.of.notes, "spec.forProvider."+at+" is left out, since the configuration made it sensitive: set it by hand")
		case f.inner == nil:
			if shown, ok := d.leaf(f, value, at); ok {
				declared[f.name] = shown
			}
		case once(f.nesting):
			declared[f.name] = d.object(f.inner, value, at, in)
		case value.LengthInt() > 0 || f.attribute != nil:
			declared[f.name] = d.collection(f, value, at, in)
		}
	}
	return declared
}

func (d *declarer) collection(f field, v cty.Value, at, in string) any {
	if f.nesting == schema.Map {
		items := map[string]any{}
		for key, value := range v.Elements() {
			items[key.AsString()] = d.object(f.inner, value, child(at, key.AsString()), in+"["+key.AsString()+"]")
		}
		return items
	}
	items := []any{}
	for _, value := range v.Elements() {
		i := len(items)
		items = append(items, d.object(f.inner, value, item(at, i), item(in, i)))
	}
	return items
}

// leaf returns the value of an attribute, unless a reference sets it.
func (d *declarer) leaf(f field, v cty.Value, at string) (any, bool) {
	if value := text(v); value != "" && len(d.references) < mostReferences {
		if r := d.refer(value); r != nil {
			r.Field = at
			d.references = append(d.references, *r)
			return nil, false
		}
	}
	b, name := only(f.attribute)
	shown, ok := kinds.Object(b, cty.ObjectVal(map[string]cty.Value{f.argument: v}))[name]
	return shown, ok
}

var noSecretKey = regexp.MustCompile(`[^-_a-zA-Z0-9]+`)

// secret returns a reference to a key of the Secret, such as layer.0.token.
func (d *declarer) secret(at string, v cty.Value) any {
	key := noSecretKey.ReplaceAllString(at[:len(at)-len(secretSuffix)], ".")
	for n := 2; slices.Contains(d.keys, key); n++ { // of keys of maps that differ in other characters only
		key += "." + strconv.Itoa(n)
	}
	d.keys = append(d.keys, key)
	if !v.IsNull() && d.withValues {
		d.values[key] = text(v)
		if v.Type() != cty.String {
			data, err := ctyjson.Marshal(v, v.Type())
			if err != nil {
				d.of.notes = append(d.of.notes, fmt.Sprintf("the value of %s cannot be written: set it by hand", at))
			}
			d.values[key] = string(data)
		}
	}
	return d.selector(key)
}

// secretSuffix is the end of the names of fields that select a key of a Secret.
const secretSuffix = "SecretRef"
