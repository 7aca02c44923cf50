// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping converts between a vendor's types and those of a kind by the names of their fields.
//
// The one idea: fields correspond if their names are equal in any spelling: CIDRBlock, CidrBlock and cidr_block. The field tag
// vendor:"Name" names another counterpart. The mapping of two types is compiled once and then reports what does not fit.
//
//	convert, unmatched, err := mapping.New[network.Network, v1.NetworkParameters]()
//	declared, err := convert(have)
package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A Field is one of a struct, or of a struct in it.
type Field struct {
	Path string // of JSON names
	Type reflect.Type
}

// New returns a function that copies one struct to another that shares no memory with it, and the fields of To without a
// counterpart in From, sorted, which stay empty. It fails if fields of the same name have types that do not convert.
//
// Errors of the function name the fields whose values do not fit, such as numbers out of range; all others are copied.
func New[From, To any]() (copyFields func(*From) (To, error), unmatched []Field, err error) {
	assign, unmatched, err := between(reflect.TypeFor[From](), reflect.TypeFor[To]())
	return func(from *From) (to To, err error) {
		err = assign(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from).Elem())
		return to, err
	}, unmatched, err
}

// Between is New for a type that is known at run time only. The result copies a From into a settable value and does not touch
// fields without a counterpart.
func Between[From any](to reflect.Type) (func(from *From, to reflect.Value) error, error) {
	assign, _, err := between(reflect.TypeFor[From](), to)
	return func(from *From, to reflect.Value) error { return assign(to, reflect.ValueOf(from).Elem()) }, err
}

func between(from, to reflect.Type) (assignment, []Field, error) {
	if to.Kind() != reflect.Struct || from.Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("mapping %s to %s: both must be structs", from, to)
	}
	m := compiler{done: map[pair]*assignment{}}
	assign, err := m.compile(to, from, "")
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %s to %s: %w", from, to, err)
	}
	slices.SortFunc(m.unmatched, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return assign, slices.Compact(m.unmatched), nil
}

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
	return f.Anonymous && pointedAt(f.Type).Kind() == reflect.Struct
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

// counterpart finds a source by the tag on either side, else by the Go name, else by the JSON name.
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

// Pointers returns the JSON paths of the fields of To that are pointers and whose counterparts are pointers too, so that zero and
// unset are distinguished. Fields in lists and maps are left out, and a type that contains itself is entered once.
func Pointers[From, To any]() []string {
	return pointers(reflect.TypeFor[To](), reflect.TypeFor[From](), "", nil)
}

func pointers(to, from reflect.Type, at string, above []pair) (paths []string) {
	if to.Kind() != reflect.Struct || from.Kind() != reflect.Struct || slices.Contains(above, pair{to, from}) {
		return nil
	}
	above = append(slices.Clone(above), pair{to, from})
	for _, target := range fields(to) {
		source, ok := counterpart(target, from)
		if !ok {
			continue
		}
		path := join(at, jsonName(target))
		if target.Type.Kind() == reflect.Pointer && source.Type.Kind() == reflect.Pointer {
			paths = append(paths, path)
		}
		paths = append(paths, pointers(pointedAt(target.Type), pointedAt(source.Type), path, above)...)
	}
	return paths
}

func pointedAt(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
