// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An assignment sets a value from one of another type. It sets all that it can, even if it returns an error.
type assignment func(to, from reflect.Value) error

type pair struct{ to, from reflect.Type }

// A compiler builds the assignments of one mapping.
type compiler struct {
	done      map[pair]*assignment // of structs, also unfinished ones: types may contain themselves
	unmatched []Field
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	metaTimeType = reflect.TypeFor[metav1.Time]()
)

// compile returns the assignment of two types; at is the JSON path of the field.
func (m *compiler) compile(to, from reflect.Type, at string) (assignment, error) {
	switch {
	case to.Kind() == reflect.Pointer && from.Kind() == reflect.Pointer:
		return m.pointers(to, from, at)
	case from.Kind() == reflect.Pointer:
		assign, err := m.compile(to, from.Elem(), at)
		return func(to, from reflect.Value) error {
			if from.IsNil() {
				return nil
			}
			return assign(to, from.Elem())
		}, err
	case to.Kind() == reflect.Pointer:
		assign, err := m.compile(to.Elem(), from, at)
		return func(to, from reflect.Value) error {
			if isUnset(from) {
				return nil
			}
			to.Set(reflect.New(to.Type().Elem()))
			return assign(to.Elem(), from)
		}, err
	case to == timeType || to == metaTimeType || from == timeType || from == metaTimeType:
		return times(to, from, at)
	case to == from && hasUnexported(to):
		return whole, nil
	case textual(to, from):
		return throughJSON(at), nil
	case to.Kind() == reflect.Struct && from.Kind() == reflect.Struct:
		return m.structs(to, from, at)
	case to.Kind() == reflect.Slice && from.Kind() == reflect.Slice:
		return m.slices(to, from, at)
	case to.Kind() == reflect.Map && from.Kind() == reflect.Map:
		return m.maps(to, from, at)
	}
	return scalars(to, from, at)
}

// isUnset is true for values that vendors return for unset fields: an empty string, a nil list, the zero time, and a struct of
// such fields. The number 0 and false count as set.
func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() == 0
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Struct:
		if !v.IsZero() {
			return false
		}
		for _, f := range fields(v.Type()) {
			if field, err := v.FieldByIndexErr(f.Index); err == nil && !hasUnexported(v.Type()) && !isUnset(field) {
				return false
			}
		}
		return true
	}
	return false
}

// pointers distinguishes unset from empty: an empty string that the user sets is sent.
func (m *compiler) pointers(to, from reflect.Type, at string) (assignment, error) {
	assign, err := m.compile(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) error {
		if from.IsNil() {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return assign(to.Elem(), from.Elem())
	}, err
}

// elements returns the assignment of elements of lists and maps. Unset elements are kept, since their number matters.
func (m *compiler) elements(to, from reflect.Type, at string) (assignment, error) {
	if to.Kind() != reflect.Pointer {
		return m.compile(to, from, at)
	}
	assign, err := m.compile(to.Elem(), from, at)
	return func(to, from reflect.Value) error {
		to.Set(reflect.New(to.Type().Elem()))
		return assign(to.Elem(), from)
	}, err
}

func (m *compiler) slices(to, from reflect.Type, at string) (assignment, error) {
	assign, err := m.elements(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) error {
		if from.IsNil() {
			return nil
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		var wrong []error
		for i := range from.Len() {
			wrong = append(wrong, assign(to.Index(i), from.Index(i)))
		}
		return errors.Join(wrong...)
	}, err
}

func (m *compiler) maps(to, from reflect.Type, at string) (assignment, error) {
	key, err := m.compile(to.Key(), from.Key(), at)
	if err != nil {
		return nil, err
	}
	value, err := m.elements(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) error {
		if from.IsNil() {
			return nil
		}
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		var wrong []error
		for entries := from.MapRange(); entries.Next(); {
			k, v := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
			wrong = append(wrong, key(k, entries.Key()), value(v, entries.Value()))
			to.SetMapIndex(k, v)
		}
		return errors.Join(wrong...)
	}, err
}
