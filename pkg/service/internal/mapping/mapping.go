// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Mapping makes a To of a From.
type Mapping[From, To any] struct {
	copy assignment
	// Unmatched are the fields of To that nothing in From corresponds to, sorted. They stay empty.
	Unmatched []Field
}

// A Field is one of To, or of a struct in it.
type Field struct {
	Path string // of JSON names
	Type reflect.Type
}

// New returns the mapping of two struct types. It fails if fields of the same name have types that do not convert.
func New[From, To any]() (Mapping[From, To], error) {
	to, from := reflect.TypeFor[To](), reflect.TypeFor[From]()
	if to.Kind() != reflect.Struct || from.Kind() != reflect.Struct {
		return Mapping[From, To]{}, fmt.Errorf("mapping %s to %s: both must be structs", from, to)
	}
	m := maker{made: map[pair]*assignment{}}
	assign, err := m.make(to, from, "")
	if err != nil {
		return Mapping[From, To]{}, fmt.Errorf("mapping %s to %s: %w", from, to, err)
	}
	slices.SortFunc(m.unmatched, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return Mapping[From, To]{copy: assign, Unmatched: slices.Compact(m.unmatched)}, nil
}

// Copy returns a To that shares nothing with the From. The error names the fields whose values do not fit, such as numbers
// out of range; all others are copied.
func (m Mapping[From, To]) Copy(from *From) (to To, err error) {
	err = m.copy(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from).Elem())
	return to, err
}

// Into copies a struct into another, leaving fields without a counterpart as they are. It is New and Copy in one for types
// that are known at the call only; to is a pointer.
func Into(to, from any) error {
	dst, src := reflect.ValueOf(to), reflect.Indirect(reflect.ValueOf(from))
	if dst.Kind() != reflect.Pointer || dst.Elem().Kind() != reflect.Struct || src.Kind() != reflect.Struct {
		return fmt.Errorf("mapping %T to %T: give a struct and a pointer to a struct", from, to)
	}
	m := maker{made: map[pair]*assignment{}}
	assign, err := m.make(dst.Elem().Type(), src.Type(), "")
	if err != nil {
		return fmt.Errorf("mapping %T to %T: %w", from, to, err)
	}
	return assign(dst.Elem(), src)
}
