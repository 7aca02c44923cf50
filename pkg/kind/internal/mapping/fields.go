// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"reflect"
	"slices"
	"strings"
)

// A StructField is a field of a struct, or of a struct within it.
type StructField struct {
	reflect.StructField
	Path    string // JSON names; an embedded struct adds none
	Indices []int  // for FieldByIndexErr
	// Unreachable explains why the value cannot be read. Empty: it can.
	Unreachable string
	// Pointer is true for a field within a struct behind a pointer, which may be nil.
	Pointer bool
}

// StructFields returns the fields of a struct and of the structs within it. A type that contains itself is entered once.
func StructFields(t reflect.Type) []StructField {
	var found []StructField
	entered := map[reflect.Type]bool{}
	var walk func(t reflect.Type, parent StructField)
	walk = func(t reflect.Type, parent StructField) {
		if entered[t] {
			return
		}
		entered[t] = true
		defer delete(entered, t)
		for i := range t.NumField() {
			f := parent
			f.StructField = t.Field(i)
			f.Indices = append(parent.Indices[:len(parent.Indices):len(parent.Indices)], i)
			if name := tagName(f.StructField); name != "" {
				f.Path = strings.TrimPrefix(parent.Path+"."+name, ".")
			}
			if !f.IsExported() && !f.Anonymous {
				f.Unreachable = "unexported fields"
			}
			found = append(found, f)
			below := f.Type
			for below.Kind() == reflect.Slice || below.Kind() == reflect.Map || below.Kind() == reflect.Pointer {
				if f.Pointer = true; below.Kind() != reflect.Pointer {
					f.Unreachable = "fields in lists and maps"
				}
				below = below.Elem()
			}
			if below.Kind() == reflect.Struct {
				walk(below, f)
			}
		}
	}
	walk(t, StructField{})
	return found
}

// NamedFields returns those of StructFields that have JSON names and are outside lists and maps.
func NamedFields(t reflect.Type) []StructField {
	return slices.DeleteFunc(StructFields(t), func(f StructField) bool { return f.Unreachable != "" || tagName(f.StructField) == "" })
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// An Accessor reads and writes a struct field that holds an F: directly, as a named type, or behind a pointer.
type Accessor[F any] struct{ index []int }

// FieldNamed finds the first of the named fields that holds an F.
func FieldNamed[F any](in reflect.Type, names ...string) (a Accessor[F], ok bool) {
	for _, name := range names {
		f, found := in.FieldByName(name)
		if found && (Holds[F](f.Type) || f.Type.Kind() == reflect.Pointer && Holds[F](f.Type.Elem())) {
			return Accessor[F]{f.Index}, true
		}
	}
	return Accessor[F]{}, false
}

// Holds is true for F and named types of it.
func Holds[F any](t reflect.Type) bool {
	return t.Kind() == reflect.TypeFor[F]().Kind() && t.ConvertibleTo(reflect.TypeFor[F]())
}

// Get returns the zero value if the field is behind a nil pointer.
func (a Accessor[F]) Get(in reflect.Value) (value F) {
	at, err := in.FieldByIndexErr(a.index)
	if at = reflect.Indirect(at); err == nil && at.IsValid() {
		value, _ = at.Convert(reflect.TypeFor[F]()).Interface().(F)
	}
	return value
}

// Set does not touch fields of embedded structs.
func (a Accessor[F]) Set(in reflect.Value, value F) {
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
