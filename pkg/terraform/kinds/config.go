// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Config returns the configuration that an object of the API declares, as Terraform has it: unset attributes are null, and unset blocks empty.
// The secrets are values of Secrets by the path of the field that selects them, such as node[0].passwordSecretRef. The error has all fields
// that do not fit the schema, each with its path below at, such as spec.forProvider. A secret of nil is unknown.
func Config(b *schema.Block, at string, from map[string]any, secrets func(field string) ([]byte, bool)) (cty.Value, error) {
	r := &reader{at: at, secrets: secrets}
	config := r.object(shapeOfBlock(b), "", from)
	return config, errors.Join(r.errs...)
}

// A reader reads values of the API.
type reader struct {
	at      string
	secrets func(field string) ([]byte, bool)
	within  bool // the value of a secret, whose names are those of Terraform
	errs    []error
}

func (r *reader) fail(s shape, at, format string, args ...any) cty.Value {
	r.errs = append(r.errs, fmt.Errorf("%s "+format, append([]any{Child(r.at, "") + at}, args...)...))
	return s.unset()
}

func (r *reader) object(s shape, at string, from map[string]any) cty.Value {
	values := map[string]cty.Value{}
	known := map[string]bool{}
	for _, f := range s.fields() {
		name := f.name
		if r.within {
			name = f.attribute
		}
		known[name] = f.input
		switch value := from[name]; {
		case value == nil || !f.input:
			values[f.attribute] = f.unset()
		case f.secret && !r.within:
			values[f.attribute] = r.secret(f.shape, Child(at, name))
		default:
			values[f.attribute] = r.value(f.shape, Child(at, name), value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if !known[name] {
			r.fail(s, Child(at, name), "is no field: remove it, or see kubectl explain for the fields")
		}
	}
	return cty.ObjectVal(values)
}

func (r *reader) value(s shape, at string, from any) cty.Value {
	switch s.form {
	case scalar:
		return r.scalar(s, at, from)
	case dynamic:
		if deeper(from, mostLevels) {
			return r.fail(s, at, "is nested deeper than %d levels, which no provider handles: declare less", mostLevels)
		}
		return implied(from)
	case object, mapping:
		values, ok := from.(map[string]any)
		switch {
		case !ok:
			return r.fail(s, at, "must be an object")
		case s.form == object:
			return r.object(s, at, values)
		}
		items := make(map[string]cty.Value, len(values))
		for _, key := range slices.Sorted(maps.Keys(values)) {
			items[key] = r.value(*s.item, Child(at, key), values[key])
		}
		return r.collect(s, at, cty.ObjectVal(items), len(items))
	}
	values, ok := from.([]any)
	switch {
	case !ok:
		return r.fail(s, at, "must be a list")
	case s.form == tuple && len(values) != s.cty.Length():
		return r.fail(s, at, "must be a list of %d elements", s.cty.Length())
	}
	items := make([]cty.Value, len(values))
	for i, value := range values {
		items[i] = r.value(s.element(cty.NumberIntVal(int64(i))), Item(at, i), value)
	}
	return r.collect(s, at, cty.TupleVal(items), len(items))
}

// collect turns a tuple or object of items into the collection that the shape requires.
func (r *reader) collect(s shape, at string, items cty.Value, n int) cty.Value {
	switch {
	case s.form == tuple:
		return items
	case n == 0:
		return s.empty()
	}
	collection, err := convert.Convert(items, s.ctyType())
	if err != nil {
		return r.fail(s, at, "must have elements of one type")
	}
	return collection
}

func (r *reader) scalar(s shape, at string, from any) cty.Value {
	switch v := from.(type) {
	case string:
		if s.cty == cty.String {
			return cty.StringVal(v)
		}
	case bool:
		if s.cty == cty.Bool {
			return cty.BoolVal(v)
		}
	case int64, float64:
		if s.cty == cty.Number {
			return number(v)
		}
	}
	return r.fail(s, at, "must be %s", s.expected())
}

// secret returns the value of a Secret.
func (r *reader) secret(s shape, at string) cty.Value {
	data, ok := r.secrets(at)
	if !ok {
		return r.fail(s, at, "selects a value that was not read: check that the Secret exists and has the key")
	}
	if data == nil {
		return cty.UnknownVal(s.ctyType())
	}
	if s.form == scalar && s.cty == cty.String {
		if !utf8.Valid(data) {
			return r.fail(s, at, "selects a value that is no text: Terraform providers take UTF-8 only, so encode it, for example as base64")
		}
		return cty.StringVal(string(data))
	}
	within := &reader{within: true}
	value := s.unset()
	var from any
	if err := utiljson.Unmarshal(data, &from); err != nil {
		within.errs = []error{err}
	} else if from != nil {
		value = within.value(s, "", from)
	}
	if len(within.errs) > 0 { // which may have parts of the value
		return r.fail(s, at, "selects a value that is not %s: correct it in the Secret", s.expected())
	}
	return value
}

// expected is what a value should be, for people.
func (s shape) expected() string {
	switch {
	case s.form != scalar:
		return "JSON as the Terraform type has it"
	case s.cty == cty.Bool:
		return "true or false"
	}
	return "a " + s.cty.FriendlyName()
}

func number(from any) cty.Value {
	if i, ok := from.(int64); ok {
		return cty.NumberIntVal(i)
	}
	f, _ := from.(float64)
	return cty.NumberFloatVal(f)
}

// mostLevels is how deep values of any type may be nested: types, and the messages that show them, grow with each level.
const mostLevels = 100

// deeper is true for a value that has more levels of lists and objects.
func deeper(from any, than int) bool {
	items, has := from.([]any)
	if fields, isObject := from.(map[string]any); isObject {
		items, has = slices.Collect(maps.Values(fields)), true
	}
	return has && (than == 0 || slices.ContainsFunc(items, func(item any) bool { return deeper(item, than-1) }))
}

// implied returns a value of any type.
func implied(from any) cty.Value {
	switch v := from.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int64, float64:
		return number(v)
	case map[string]any:
		attributes := map[string]cty.Value{}
		for name, value := range v {
			attributes[name] = implied(value)
		}
		return cty.ObjectVal(attributes)
	case []any:
		items := make([]cty.Value, len(v))
		for i, value := range v {
			items[i] = implied(value)
		}
		return cty.TupleVal(items)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// unset returns the value of what is not configured.
func (s shape) unset() cty.Value {
	switch {
	case s.isBlock && s.form != object:
		return s.empty()
	case s.group:
		return (&reader{}).object(s, "", nil)
	}
	return cty.NullVal(s.ctyType())
}

// empty returns a collection without items.
func (s shape) empty() cty.Value {
	switch {
	case s.form == list && s.mixed():
		return cty.EmptyTupleVal
	case s.form == mapping && s.mixed():
		return cty.EmptyObjectVal
	case s.form == list:
		return cty.ListValEmpty(s.item.ctyType())
	case s.form == set:
		return cty.SetValEmpty(s.item.ctyType())
	}
	return cty.MapValEmpty(s.item.ctyType())
}

// CheckRequired returns an error with all fields that a configuration must set and does not, and with the blocks that it has too few or too
// many of. An object that is only observed needs none.
func CheckRequired(b *schema.Block, at string, config cty.Value) error {
	var errs []error
	shapeOfBlock(b).check(at, config, func(field, problem string) { errs = append(errs, fmt.Errorf("%s %s", field, problem)) })
	return errors.Join(errs...)
}

func (s shape) check(at string, v cty.Value, report func(at, problem string)) {
	if v.IsNull() || !v.IsKnown() || s.form == scalar || s.form == dynamic || s.form == tuple {
		return
	}
	if s.form != object {
		for key, value := range v.Elements() {
			s.item.check(at+index(s, key), value, report)
		}
		return
	}
	for _, f := range s.fields() {
		value, at := v.GetAttr(f.attribute), Child(at, f.name)
		n := 1
		if value.IsNull() {
			n = 0
		} else if f.min+f.max > 0 && value.IsKnown() && f.form != object {
			n = value.LengthInt()
		}
		switch {
		case f.required && n == 0:
			report(at, "is required")
		case n < f.min:
			report(at, fmt.Sprintf("needs at least %d items", f.min))
		case f.max > 0 && n > f.max:
			report(at, fmt.Sprintf("may have at most %d items", f.max))
		}
		f.check(at, value, report)
	}
}
