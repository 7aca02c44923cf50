// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"reflect"
	"slices"
	"strings"
)

// A jsonField is a field of a struct, or of a struct within it.
type jsonField struct {
	reflect.StructField
	path  string // JSON names; an embedded struct adds none
	index []int
	// unreachable explains why a tag on the field has no effect. Empty: FieldByIndexErr reaches it.
	unreachable string
	// pointer is true for a field within a struct behind a pointer, which may be nil.
	pointer bool
}

// fieldsOf returns the fields of a struct and of the structs within it. A type that contains itself is entered once.
func fieldsOf(t reflect.Type) []jsonField {
	var found []jsonField
	entered := map[reflect.Type]bool{}
	var walk func(t reflect.Type, parent jsonField)
	walk = func(t reflect.Type, parent jsonField) {
		if entered[t] {
			return
		}
		entered[t] = true
		defer delete(entered, t)
		for i := range t.NumField() {
			f := parent
			f.StructField = t.Field(i)
			f.index = append(parent.index[:len(parent.index):len(parent.index)], i)
			if name := jsonName(f.StructField); name != "" {
				f.path = strings.TrimPrefix(parent.path+"."+name, ".")
			}
			if !f.IsExported() && !f.Anonymous {
				f.unreachable = "unexported fields"
			}
			found = append(found, f)
			below := f.Type
			for below.Kind() == reflect.Slice || below.Kind() == reflect.Map || below.Kind() == reflect.Pointer {
				if f.pointer = true; below.Kind() != reflect.Pointer {
					f.unreachable = "fields in lists and maps"
				}
				below = below.Elem()
			}
			if below.Kind() == reflect.Struct {
				walk(below, f)
			}
		}
	}
	walk(t, jsonField{})
	return found
}

// namedFields returns those of fieldsOf that have JSON names and are outside lists and maps.
func namedFields(t reflect.Type) []jsonField {
	return slices.DeleteFunc(fieldsOf(t), func(f jsonField) bool { return f.unreachable != "" || jsonName(f.StructField) == "" })
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// An accessor reads and writes a struct field that holds an F: directly, as a named type, or behind a pointer.
type accessor[F any] struct{ index []int }

// fieldNamed finds the first of the named fields that holds an F.
func fieldNamed[F any](in reflect.Type, names ...string) (a accessor[F], ok bool) {
	for _, name := range names {
		f, found := in.FieldByName(name)
		if found && (holds[F](f.Type) || f.Type.Kind() == reflect.Pointer && holds[F](f.Type.Elem())) {
			return accessor[F]{f.Index}, true
		}
	}
	return accessor[F]{}, false
}

// holds is true for F and named types of it.
func holds[F any](t reflect.Type) bool {
	return t.Kind() == reflect.TypeFor[F]().Kind() && t.ConvertibleTo(reflect.TypeFor[F]())
}

// get returns the zero value if the field is behind a nil pointer.
func (a accessor[F]) get(in reflect.Value) (value F) {
	at, err := in.FieldByIndexErr(a.index)
	if at = reflect.Indirect(at); err == nil && at.IsValid() {
		value, _ = at.Convert(reflect.TypeFor[F]()).Interface().(F)
	}
	return value
}

// set does not touch fields of embedded structs.
func (a accessor[F]) set(in reflect.Value, value F) {
	if len(a.index) > 1 || reflect.ValueOf(value).IsZero() {
		return
	}
	at := in.FieldByIndex(a.index)
	if at.Kind() == reflect.Pointer {
		at.Set(reflect.New(at.Type().Elem()))
		at = at.Elem()
	}
	at.Set(reflect.ValueOf(value).Convert(at.Type()))
}
