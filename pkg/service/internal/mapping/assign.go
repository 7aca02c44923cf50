// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An assignment sets a value to what another one means in its type.
type assignment func(to, from reflect.Value)

type pair struct{ to, from reflect.Type }

// A maker makes the assignments of one mapping.
type maker struct {
	made      map[pair]*assignment // those of structs, also while they are being made: types may contain themselves
	unmatched []string
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	metaTimeType = reflect.TypeFor[metav1.Time]()
)

// make returns the assignment of two types; at is the JSON path of the field.
func (m *maker) make(to, from reflect.Type, at string) (assignment, error) {
	switch {
	case to.Kind() == reflect.Pointer && from.Kind() == reflect.Pointer:
		return m.pointers(to, from, at)
	case from.Kind() == reflect.Pointer:
		assign, err := m.make(to, from.Elem(), at)
		return func(to, from reflect.Value) {
			if !from.IsNil() {
				assign(to, from.Elem())
			}
		}, err
	case to.Kind() == reflect.Pointer:
		assign, err := m.make(to.Elem(), from, at)
		return func(to, from reflect.Value) {
			if !saysNothing(from) {
				to.Set(reflect.New(to.Type().Elem()))
				assign(to.Elem(), from)
			}
		}, err
	case to == timeType || to == metaTimeType || from == timeType || from == metaTimeType:
		return times(to, from, at)
	case to.Kind() == reflect.Struct && from.Kind() == reflect.Struct:
		return m.structs(to, from, at)
	case to.Kind() == reflect.Slice && from.Kind() == reflect.Slice:
		return m.slices(to, from, at)
	case to.Kind() == reflect.Map && from.Kind() == reflect.Map:
		return m.maps(to, from, at)
	}
	return scalars(to, from, at)
}

// saysNothing is true for what vendors answer where nothing is set: an empty string, no list, the beginning of time. The
// number 0 and false say something.
func saysNothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() == 0
	case reflect.Slice, reflect.Map:
		return v.IsNil()
	case reflect.Struct:
		return v.IsZero()
	}
	return false
}

// pointers keeps apart what is absent and what is empty: a user who sets an empty string wants it sent.
func (m *maker) pointers(to, from reflect.Type, at string) (assignment, error) {
	assign, err := m.make(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) {
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			assign(to.Elem(), from.Elem())
		}
	}, err
}

func (m *maker) slices(to, from reflect.Type, at string) (assignment, error) {
	assign, err := m.make(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) {
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			assign(to.Index(i), from.Index(i))
		}
	}, err
}

func (m *maker) maps(to, from reflect.Type, at string) (assignment, error) {
	key, err := m.make(to.Key(), from.Key(), at)
	if err != nil {
		return nil, err
	}
	value, err := m.make(to.Elem(), from.Elem(), at)
	return func(to, from reflect.Value) {
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			k, v := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
			key(k, entries.Key())
			value(v, entries.Value())
			to.SetMapIndex(k, v)
		}
	}, err
}

func times(to, from reflect.Type, at string) (assignment, error) {
	isTime := func(t reflect.Type) bool { return t == timeType || t == metaTimeType }
	read := func(v reflect.Value) time.Time {
		if v.Type() == metaTimeType {
			return v.Interface().(metav1.Time).Time
		}
		return v.Interface().(time.Time)
	}
	switch {
	case isTime(from) && to == timeType:
		return func(to, from reflect.Value) { to.Set(reflect.ValueOf(read(from))) }, nil
	case isTime(from) && to == metaTimeType:
		return func(to, from reflect.Value) { to.Set(reflect.ValueOf(metav1.NewTime(read(from)))) }, nil
	case isTime(from) && to.Kind() == reflect.String:
		return func(to, from reflect.Value) {
			if t := read(from); !t.IsZero() {
				to.SetString(t.UTC().Format(time.RFC3339))
			}
		}, nil
	}
	return nil, mismatch(to, from, at)
}

func scalars(to, from reflect.Type, at string) (assignment, error) {
	if integer(from) && (integer(to) || float(to)) || float(from) && float(to) || to.Kind() == from.Kind() && basic(to) {
		return func(to, from reflect.Value) { to.Set(from.Convert(to.Type())) }, nil
	}
	if from.AssignableTo(to) && to.Kind() == reflect.Interface {
		return func(to, from reflect.Value) { to.Set(from) }, nil
	}
	return nil, mismatch(to, from, at)
}

func basic(t reflect.Type) bool { return t.Kind() == reflect.Bool || t.Kind() == reflect.String }

func integer(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

func float(t reflect.Type) bool { return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 }

func mismatch(to, from reflect.Type, at string) error {
	return fmt.Errorf("field %s: a %s is no %s", at, from, to)
}
