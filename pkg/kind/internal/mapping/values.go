// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An assignment sets a value from one of another type. It sets all that it can, even if it returns an error.
type assignment func(to, from reflect.Value) error

type pair struct{ to, from reflect.Type }

type compiler struct {
	done      map[pair]*assignment // of structs, also unfinished ones: types may contain themselves
	unmatched []Field
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	metaTimeType = reflect.TypeFor[metav1.Time]()
)

func (m *compiler) compile(to, from reflect.Type, at string) (assignment, error) {
	switch {
	case to.Kind() == reflect.Pointer && from.Kind() == reflect.Pointer: // an empty string that the user sets is sent
		return m.allocate(to, from, at, reflect.Value.IsNil)
	case to.Kind() == reflect.Pointer:
		return m.allocate(to, from, at, isUnset)
	case from.Kind() == reflect.Pointer:
		assign, err := m.compile(to, from.Elem(), at)
		return func(to, from reflect.Value) error {
			if from.IsNil() {
				return nil
			}
			return assign(to, from.Elem())
		}, err
	case isTime(to) || isTime(from):
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

// isUnset is true for what vendors return for unset fields. The number 0 and false count as set.
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

// allocate returns an assignment to what a pointer points to. For an unset value the pointer stays nil.
func (m *compiler) allocate(to, from reflect.Type, at string, unset func(reflect.Value) bool) (assignment, error) {
	assign, err := m.compile(to.Elem(), from, at)
	return func(to, from reflect.Value) error {
		if unset(from) {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return assign(to.Elem(), from)
	}, err
}

// elements returns the assignment of elements of lists and maps. Unset elements are kept, since their number matters.
func (m *compiler) elements(to, from reflect.Type, at string) (assignment, error) {
	if to.Kind() != reflect.Pointer {
		return m.compile(to, from, at)
	}
	return m.allocate(to, from, at, func(reflect.Value) bool { return false })
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

func times(to, from reflect.Type, at string) (assignment, error) {
	if !isTime(from) || !isTime(to) && to.Kind() != reflect.String {
		return nil, mismatch(to, from, at)
	}
	return func(to, from reflect.Value) error {
		at, ok := from.Interface().(time.Time)
		if !ok {
			at = from.Interface().(metav1.Time).Time
		}
		switch {
		case to.Type() == timeType:
			to.Set(reflect.ValueOf(at))
		case to.Type() == metaTimeType:
			to.Set(reflect.ValueOf(asStored(at)))
		case !at.IsZero():
			to.SetString(at.UTC().Format(time.RFC3339))
		}
		return nil
	}, nil
}

// asStored is a time as an object has it that was read, which a reconciler then finds to be unchanged without a look at its JSON.
func asStored(at time.Time) metav1.Time {
	if at.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(at.Truncate(time.Second).Local())
}

func isTime(t reflect.Type) bool { return t == timeType || t == metaTimeType }

func hasUnexported(t reflect.Type) bool {
	return t.Kind() == reflect.Struct &&
		slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !f.IsExported() && !embedsStruct(f) })
}

// whole copies a value with unexported fields.
func whole(to, from reflect.Value) error {
	to.Set(from)
	for _, v := range []reflect.Value{to, to.Addr()} {
		method, ok := v.Type().MethodByName("DeepCopy")
		if ok && method.Type.NumIn() == 1 && method.Type.NumOut() == 1 && method.Type.Out(0) == v.Type() {
			to.Set(reflect.Indirect(v.MethodByName("DeepCopy").Call(nil)[0]))
			break
		}
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
