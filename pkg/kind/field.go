// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"reflect"
	"strings"
)

// An access is a field of a struct type that holds an F: by itself, as a named type, or behind a pointer.
type access[F any] struct{ index []int }

// field finds the first of the named fields that holds an F.
func field[F any](in reflect.Type, names ...string) (a access[F], ok bool) {
	for _, name := range names {
		f, found := in.FieldByName(name)
		if found && (holds[F](f.Type) || f.Type.Kind() == reflect.Pointer && holds[F](f.Type.Elem())) {
			return access[F]{f.Index}, true
		}
	}
	return access[F]{}, false
}

// holds is true for F and named types of it.
func holds[F any](t reflect.Type) bool {
	return t.Kind() == reflect.TypeFor[F]().Kind() && t.ConvertibleTo(reflect.TypeFor[F]())
}

// get returns the zero value where there is none.
func (a access[F]) get(in reflect.Value) (value F) {
	at, err := in.FieldByIndexErr(a.index)
	if at = reflect.Indirect(at); err == nil && at.IsValid() {
		value, _ = at.Convert(reflect.TypeFor[F]()).Interface().(F)
	}
	return value
}

// set leaves fields of embedded structs alone.
func (a access[F]) set(in reflect.Value, value F) {
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

// fieldAt finds a map of strings to strings by its JSON path, outside lists and pointers.
func fieldAt(in reflect.Type, path []string) (at []int, ok bool) {
	for i := range in.NumField() {
		f := in.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		rest := path
		switch {
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
		case name == "" || name != path[0]:
			continue
		case len(path) == 1:
			return f.Index, holds[map[string]string](f.Type)
		case f.Type.Kind() == reflect.Struct:
			rest = path[1:]
		default:
			continue
		}
		if at, ok = fieldAt(f.Type, rest); ok {
			return append([]int{i}, at...), true
		}
	}
	return nil, false
}
