// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func times(to, from reflect.Type, at string) (assignment, error) {
	isTime := func(t reflect.Type) bool { return t == timeType || t == metaTimeType }
	read := func(v reflect.Value) time.Time {
		if v.Type() == metaTimeType {
			return v.Interface().(metav1.Time).Time
		}
		return v.Interface().(time.Time)
	}
	set := func(assign func(to reflect.Value, at time.Time)) assignment {
		return func(to, from reflect.Value) error { assign(to, read(from)); return nil }
	}
	switch {
	case isTime(from) && to == timeType:
		return set(func(to reflect.Value, at time.Time) { to.Set(reflect.ValueOf(at)) }), nil
	case isTime(from) && to == metaTimeType:
		return set(func(to reflect.Value, at time.Time) { to.Set(reflect.ValueOf(metav1.NewTime(at))) }), nil
	case isTime(from) && to.Kind() == reflect.String:
		return set(func(to reflect.Value, at time.Time) {
			if !at.IsZero() {
				to.SetString(at.UTC().Format(time.RFC3339))
			}
		}), nil
	}
	return nil, mismatch(to, from, at)
}

// hasUnexported is true for structs with unexported fields.
func hasUnexported(t reflect.Type) bool {
	return t.Kind() == reflect.Struct &&
		slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !f.IsExported() && !embedsStruct(f) })
}

// whole copies a value with unexported fields.
func whole(to, from reflect.Value) error {
	to.Set(from)
	for _, v := range []reflect.Value{to, to.Addr()} {
		method, ok := v.Type().MethodByName("DeepCopy")
		if !ok || method.Type.NumIn() != 1 || method.Type.NumOut() != 1 || method.Type.Out(0) != v.Type() {
			continue
		}
		to.Set(reflect.Indirect(v.MethodByName("DeepCopy").Call(nil)[0]))
		return nil
	}
	return nil
}

// textual is true for two types that convert through JSON, of which one is an opaque struct such as resource.Quantity.
func textual(to, from reflect.Type) bool {
	text := func(t reflect.Type) bool { return t.Kind() == reflect.String }
	reads := text(to) || implements[json.Unmarshaler](to) || implements[encoding.TextUnmarshaler](to)
	writes := text(from) || implements[json.Marshaler](from) || implements[encoding.TextMarshaler](from)
	opaque := func(t, other reflect.Type) bool {
		return t.Kind() == reflect.Struct && (text(other) || hasUnexported(t))
	}
	return reads && writes && (opaque(to, from) || opaque(from, to))
}

func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

func throughJSON(at string) assignment {
	return func(to, from reflect.Value) error {
		if isUnset(from) {
			return nil
		}
		value := reflect.New(from.Type()) // some types have their methods on pointers only
		value.Elem().Set(from)
		text, err := json.Marshal(value.Interface())
		if err == nil {
			err = json.Unmarshal(text, to.Addr().Interface())
		}
		if err != nil {
			return fmt.Errorf("field %s: this %s is no %s: %w", at, from.Type(), to.Type(), err)
		}
		return nil
	}
}

func scalars(to, from reflect.Type, at string) (assignment, error) {
	switch {
	case integer(from) && integer(to):
		return integers(at), nil
	case float(from) && float(to):
		return floats(at), nil
	case integer(from) && float(to), to.Kind() == from.Kind() && basic(to):
		return func(to, from reflect.Value) error { to.Set(from.Convert(to.Type())); return nil }, nil
	case from.AssignableTo(to) && to.Kind() == reflect.Interface:
		return func(to, from reflect.Value) error { to.Set(from); return nil }, nil
	}
	return nil, mismatch(to, from, at)
}

// integers fails for a number that does not fit.
func integers(at string) assignment {
	return func(to, from reflect.Value) error {
		number := from.Convert(to.Type())
		if number.Convert(from.Type()).Equal(from) && negative(number) == negative(from) {
			to.Set(number)
			return nil
		}
		return fmt.Errorf("field %s: %v is out of the range of %s", at, from, to.Type())
	}
}

func negative(v reflect.Value) bool { return v.CanInt() && v.Int() < 0 }

// floats converts a float32 by its shortest decimal, so that 0.1 stays 0.1.
func floats(at string) assignment {
	return func(to, from reflect.Value) error {
		number := from.Float()
		if from.Kind() == reflect.Float32 {
			number, _ = strconv.ParseFloat(strconv.FormatFloat(number, 'g', -1, 32), 64)
		}
		if to.OverflowFloat(number) {
			return fmt.Errorf("field %s: %v is out of the range of %s", at, from, to.Type())
		}
		to.SetFloat(number)
		return nil
	}
}

func basic(t reflect.Type) bool { return t.Kind() == reflect.Bool || t.Kind() == reflect.String }

func integer(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

func float(t reflect.Type) bool { return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 }

func mismatch(to, from reflect.Type, at string) error {
	return fmt.Errorf("field %s: a %s is no %s", at, from, to)
}
