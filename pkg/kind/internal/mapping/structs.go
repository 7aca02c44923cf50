// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// structs pairs the fields of two structs by their names.
func (m *compiler) structs(to, from reflect.Type, at string) (assignment, error) {
	if done, ok := m.done[pair{to, from}]; ok {
		return func(to, from reflect.Value) error { return (*done)(to, from) }, nil
	}
	assign := new(assignment)
	m.done[pair{to, from}] = assign
	type step struct {
		to, from []int
		assign   assignment
	}
	var steps []step
	for _, target := range fields(to) {
		path := join(at, jsonName(target))
		source, ok := counterpart(target, from)
		if !ok {
			m.unmatched = append(m.unmatched, Field{Path: path, Type: target.Type})
			continue
		}
		if !settable(to, target.Index) {
			return nil, fmt.Errorf("field %s: it is in an embedded pointer of an unexported type of %s, which reflection cannot set", path, to)
		}
		set, err := m.compile(target.Type, source.Type, path)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{target.Index, source.Index, set})
	}
	if at != "" && len(steps) == 0 && (hasUnexported(to) || hasUnexported(from)) {
		return nil, fmt.Errorf("%w: they have no field in common, and one has unexported fields", mismatch(to, from, at))
	}
	*assign = func(to, from reflect.Value) error {
		var wrong []error
		for _, s := range steps {
			if source, err := from.FieldByIndexErr(s.from); err == nil { // else an embedded pointer is nil
				wrong = append(wrong, s.assign(reach(to, s.to), source))
			}
		}
		return errors.Join(wrong...)
	}
	return *assign, nil
}

// fields are the exported fields of a struct, with those of embedded structs in place of the structs.
func fields(of reflect.Type) []reflect.StructField {
	var visible []reflect.StructField
	for _, f := range reflect.VisibleFields(of) {
		if f.IsExported() && !embedsStruct(f) {
			visible = append(visible, f)
		}
	}
	return visible
}

func embedsStruct(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && t.Kind() == reflect.Struct
}

// settable is false for fields within an embedded pointer that reach cannot allocate.
func settable(in reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := in.Field(i)
		if in = f.Type; in.Kind() == reflect.Pointer {
			if !f.IsExported() {
				return false
			}
			in = in.Elem()
		}
	}
	return true
}

// reach returns a field and allocates the embedded structs on the way.
func reach(in reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if in.Kind() == reflect.Pointer {
			if in.IsNil() {
				in.Set(reflect.New(in.Type().Elem()))
			}
			in = in.Elem()
		}
		in = in.Field(i)
	}
	return in
}

// counterpart finds the source of a field: the one that a tag on either side names, else the one of the same Go name, else the
// one of the same JSON name.
func counterpart(target reflect.StructField, from reflect.Type) (reflect.StructField, bool) {
	candidates := fields(from)
	wanted := target.Name
	if named, ok := target.Tag.Lookup("vendor"); ok {
		wanted = named
	}
	for _, name := range []func(reflect.StructField) string{vendorName, goName, jsonName} {
		for _, f := range candidates {
			if normalize(name(f)) == normalize(wanted) {
				return f, true
			}
		}
	}
	if _, named := target.Tag.Lookup("vendor"); named {
		return reflect.StructField{}, false
	}
	for _, f := range candidates {
		if normalize(jsonName(f)) == normalize(jsonName(target)) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func vendorName(f reflect.StructField) string { return f.Tag.Get("vendor") }

func goName(f reflect.StructField) string { return f.Name }

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return f.Name
	}
	return name
}

// normalize removes what differs between spellings of a name.
func normalize(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
