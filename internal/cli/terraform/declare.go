// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// A declarer turns the state of an instance into what its object declares.
//
// A state does not tell what the configuration sets and what the provider chose. Arguments that the provider may choose are declared as
// initial: without them it would set its defaults once the object is managed, and as settings they would undo later choices of the provider.
type declarer struct {
	of         *instance
	withValues bool                          // of secrets
	selector   func(key string) any          // of the Secret of the object
	refer      func(value string) *reference // nil for a text that is no reference
	initial    map[string]any                // spec.initProvider
	references []reference
	keys       []string          // of the Secret
	values     map[string]string // of the keys, if they are known
}

// settings returns spec.forProvider.
func (d *declarer) settings() map[string]any {
	d.initial, d.values = map[string]any{}, map[string]string{}
	return d.object(d.of.of.Schema.Block, d.of.value, "", "")
}

// object returns the fields of an object. Its path is at in the API, and in in Terraform.
func (d *declarer) object(b *schema.Block, v cty.Value, at, in string) map[string]any {
	declared := map[string]any{}
	for _, f := range fieldsOf(b) {
		value, at, in, into := v.GetAttr(f.argument), child(at, f.name), in+"."+f.argument, declared
		if f.computed && at == f.name && !f.secret {
			into = d.initial
		}
		switch {
		case value.IsNull() && !(f.required && f.writeOnly), in == idPath && f.computed, !f.required && (f.computed || f.secret) && isEmpty(value):
		case f.computed && f.secret && !d.withValues:
			d.of.notes = append(d.of.notes, at+" is left out: the provider may have generated it, and only the state may have it. Use --with-secrets.")
		case f.secret:
			into[f.name] = d.secret(at, value)
		case d.of.isHidden(in, f.inner == nil):
			d.of.notes = append(d.of.notes, at+" is left out, since the configuration made it sensitive: set it by hand.")
		case f.inner != nil:
			if inner := d.nested(f, value, at, in); inner != nil {
				into[f.name] = inner
			}
		case f.computed || !d.refers(value, at):
			b, name := only(f.attribute)
			if shown, ok := kinds.Object(b, cty.ObjectVal(map[string]cty.Value{f.argument: value}))[name]; ok {
				into[f.name] = shown
			}
		}
	}
	return declared
}

// idPath is the path of the attribute id: the external name.
const idPath = ".id"

func isEmpty(v cty.Value) bool {
	if v.IsNull() {
		return true
	}
	switch t := v.Type(); {
	case t == cty.String:
		return text(v) == ""
	case t.IsCollectionType() || t.IsTupleType():
		return v.LengthInt() == 0
	}
	return false
}

// nested returns an object or a collection of objects, nil for a nested block that is not there.
func (d *declarer) nested(f field, v cty.Value, at, in string) any {
	switch {
	case f.attribute == nil && !once(f.nesting) && v.LengthInt() == 0:
		return nil
	case once(f.nesting):
		o := d.object(f.inner, v, at, in)
		if f.nesting == schema.Group && len(o) == 0 {
			return nil
		}
		return o
	}
	return d.collection(f, v, at, in)
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

// refers is true for a value that a reference sets.
func (d *declarer) refers(v cty.Value, at string) bool {
	value := text(v)
	if value == "" || len(d.references) == mostReferences {
		return false
	}
	r := d.refer(value)
	if r == nil {
		return false
	}
	r.Field = at
	d.references = append(d.references, *r)
	return true
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

// referrer returns what finds references of an instance: the only instance it depends on whose id, or attribute that only the provider
// chooses, has the value.
func referrer(of *instance, all []*instance, namespaced bool) func(value string) *reference {
	var others []*instance
	for _, other := range all {
		if other != of && slices.Contains(of.dependencies, other.resource()) {
			others = append(others, other)
		}
	}
	apiVersion, _ := kindOf(of.source.name, of.of.Type, namespaced)
	return func(value string) *reference {
		found := matches(others, func(other *instance) []string {
			if other.id == value {
				return []string{""}
			}
			return nil
		})
		if len(found) == 0 {
			found = matches(others, func(other *instance) (paths []string) { return other.showing(value) })
		}
		if len(found) != 1 {
			return nil
		}
		r := &reference{Name: found[0].other.name, Value: found[0].path}
		r.APIVersion, r.Kind = kindOf(found[0].other.source.name, found[0].other.of.Type, namespaced)
		if r.APIVersion == apiVersion {
			r.APIVersion = ""
		}
		return r
	}
}

type match struct {
	other *instance
	path  string // of the value; empty for the id
}

func matches(others []*instance, paths func(*instance) []string) (all []match) {
	for _, other := range others {
		for _, path := range paths(other) {
			all = append(all, match{other, path})
		}
	}
	return all
}

// showing returns the paths of attributes with a value that only the provider sets: others may be equal by chance.
func (i *instance) showing(value string) (paths []string) {
	for _, a := range i.computed(false) {
		name := fieldName(i.of.Schema.Block, a.Name)
		if text(i.value.GetAttr(a.Name)) == value && !strings.ContainsAny(name, "./[]") {
			paths = append(paths, "status.atProvider."+name)
		}
	}
	return paths
}
