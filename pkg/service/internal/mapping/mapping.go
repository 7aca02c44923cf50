// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"reflect"
	"slices"
)

// A Mapping makes a To of a From.
type Mapping[From, To any] struct {
	copy assignment
	// Unmatched are the fields of To, as JSON paths, that nothing in From corresponds to. They stay empty.
	Unmatched []string
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
	slices.Sort(m.unmatched)
	return Mapping[From, To]{copy: assign, Unmatched: slices.Compact(m.unmatched)}, nil
}

// Copy returns a To that shares nothing with the From.
func (m Mapping[From, To]) Copy(from *From) To {
	var to To
	m.copy(reflect.ValueOf(&to).Elem(), reflect.ValueOf(from).Elem())
	return to
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
	assign(dst.Elem(), src)
	return nil
}
