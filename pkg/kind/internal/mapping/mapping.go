// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Mapping converts a From to a To.
type Mapping[From, To any] struct {
	copy assignment
	// Unmatched are the fields of To without a counterpart in From, sorted. They stay empty.
	Unmatched []Field
}

// A Field is one of To, or of a struct in it.
type Field struct {
	Path string // of JSON names
	Type reflect.Type
}

// New returns the mapping of two struct types. It fails if fields of the same name have types that do not convert.
func New[From, To any]() (Mapping[From, To], error) {
	assign, unmatched, err := between(reflect.TypeFor[From](), reflect.TypeFor[To]())
	return Mapping[From, To]{copy: assign, Unmatched: unmatched}, err
}

// Between is New for a type that is known at run time only. The result copies a From into a settable value and does not touch
// fields without a counterpart. Its errors are those of Mapping.Copy.
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

// Copy returns a To that shares no memory with the From. The error names the fields whose values do not fit, such as numbers
// out of range; all others are copied.
func (m Mapping[From, To]) Copy(from *From) (to To, err error) {
	err = m.copy(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from).Elem())
	return to, err
}
