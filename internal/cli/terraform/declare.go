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

	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
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
	for _, f := range source.Fields(b) {
		value, at, in, into := v.GetAttr(f.Argument), kinds.Child(at, f.Name), in+"."+f.Argument, declared
		if f.Computed && at == f.Name && !f.Secret {
			into = d.initial
		}
		switch {
		case value.IsNull() && !(f.Required && f.WriteOnly), in == idPath && f.Computed, !f.Required && (f.Computed || f.Secret) && isEmpty(value):
		case f.Computed && f.Secret && !d.withValues:
			d.of.notes = append(d.of.notes, at+" is left out: the provider may have generated it, and only the state may have it. Use --with-secrets.")
		case f.Secret:
			into[f.Name] = d.secret(at, value)
		case d.of.isHidden(in, f.Inner == nil):
			d.of.notes = append(d.of.notes, at+" is left out, since the configuration made it sensitive: set it by hand.")
		case f.Inner != nil:
			if inner := d.nested(f, value, at, in); inner != nil {
				into[f.Name] = inner
			}
		case f.Computed || !d.refers(value, at):
			b, name := source.Only(f.Attribute)
			if shown, ok := kinds.Object(b, cty.ObjectVal(map[string]cty.Value{f.Argument: value}))[name]; ok {
				into[f.Name] = d.withoutOwner(shown, at)
			}
		}
	}
	return declared
}

// withoutOwner removes the label of an owner from labels. Bowline sets it, and refuses objects that declare it.
func (d *declarer) withoutOwner(shown any, at string) any {
	labels, _ := shown.(map[string]any)
	if uid, has := labels[meta.ExternalLabelUID]; has {
		delete(labels, meta.ExternalLabelUID)
		d.of.notes = append(d.of.notes, fmt.Sprintf("%s.%s is left out: an object of Bowline with this UID has or had the resource. To manage it by this "+
			"object, set the annotation %s to %q.", at, meta.ExternalLabelUID, meta.AnnotationKeyTakeOverFrom, uid))
	}
	return shown
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
func (d *declarer) nested(f source.Field, v cty.Value, at, in string) any {
	if f.Once() {
		if o := d.object(f.Inner, v, at, in); f.Nesting == schema.Single || len(o) > 0 {
			return o
		}
		return nil
	}
	if f.Attribute == nil && v.LengthInt() == 0 {
		return nil
	}
	list, items := []any{}, map[string]any{}
	for key, value := range v.Elements() {
		if f.Nesting == schema.Map {
			items[key.AsString()] = d.object(f.Inner, value, kinds.Child(at, key.AsString()), in+"["+key.AsString()+"]")
		} else {
			list = append(list, d.object(f.Inner, value, kinds.Item(at, len(list)), kinds.Item(in, len(list))))
		}
	}
	if f.Nesting == schema.Map {
		return items
	}
	return list
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
	key := noSecretKey.ReplaceAllString(at[:len(at)-len(parameters.SecretSuffix)], ".")
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

// referrer returns what finds references of an instance: the only instance it depends on whose id, or attribute that only the provider
// chooses, has the value.
func referrer(of *instance, all []*instance, namespaced bool) func(value string) *reference {
	var others []*instance
	for _, other := range all {
		if other != of && slices.Contains(of.dependencies, other.resource()) {
			others = append(others, other)
		}
	}
	apiVersion, _ := of.source.Kind(of.of.Type, namespaced)
	return func(value string) *reference {
		var ids, found []*reference
		for _, other := range others {
			r := reference{Name: other.name}
			if r.APIVersion, r.Kind = other.source.Kind(other.of.Type, namespaced); r.APIVersion == apiVersion {
				r.APIVersion = ""
			}
			if other.id == value {
				ids = append(ids, new(r))
			}
			for _, a := range other.computed(false) {
				if text(other.value.GetAttr(a.Name)) == value {
					r.Value = "status.atProvider." + source.FieldName(other.of.Schema.Block, a.Name)
					found = append(found, new(r))
				}
			}
		}
		if len(ids) > 0 {
			found = ids
		}
		if len(found) != 1 {
			return nil
		}
		return found[0]
	}
}
