// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Tags are the fields of a struct with tag connection, by the keys of the connection secret.
type tags map[string][]int

// A tagged field is one with tag connection.
type tagged struct {
	reflect.StructField
	key   string
	index []int
	path  string // of JSON names
}

// taggedIn finds the fields of a struct, and of structs in it, that have tag connection. It fails for those that nobody can
// read.
func taggedIn(of reflect.Type) (found []tagged, err error) {
	var wrong []error
	within := map[reflect.Type]bool{} // types may contain themselves
	var walk func(t reflect.Type, index []int, path, hidden string)
	walk = func(t reflect.Type, index []int, path, hidden string) {
		if within[t] {
			return
		}
		within[t] = true
		defer delete(within, t)
		for i := range t.NumField() {
			f := t.Field(i)
			hidden := hidden
			if !f.IsExported() && !f.Anonymous {
				hidden = "unexported fields"
			}
			at, here := slices.Concat(index, []int{i}), path
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				here = strings.TrimPrefix(path+"."+name, ".")
			}
			if key, ok := f.Tag.Lookup("connection"); ok && hidden != "" {
				wrong = append(wrong, fmt.Errorf("field %s.%s has tag connection: %s cannot be connection details", t, f.Name, hidden))
			} else if ok {
				found = append(found, tagged{f, key, at, here})
			}
			below := f.Type
			for below.Kind() == reflect.Slice || below.Kind() == reflect.Map || below.Kind() == reflect.Pointer {
				if below.Kind() != reflect.Pointer {
					hidden = "fields in lists and maps"
				}
				below = below.Elem()
			}
			if below.Kind() == reflect.Struct {
				walk(below, at, here, hidden)
			}
		}
	}
	walk(of, nil, "", "")
	return found, errors.Join(wrong...)
}

// tagsOf fails for fields that have no text form.
func tagsOf(of reflect.Type) (tags, error) {
	fields, err := taggedIn(of)
	if err != nil {
		return nil, err
	}
	found := tags{}
	for _, f := range fields {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			found[f.key] = f.index
		default:
			return nil, fmt.Errorf("field %s.%s has tag connection: only texts and numbers can be connection details", of, f.Name)
		}
	}
	return found, nil
}

// read adds the fields that are set to the details: 0 and false say that there is none, other than behind a pointer.
func (t tags) read(from reflect.Value, details managed.ConnectionDetails) {
	for key, index := range t {
		if value, err := from.FieldByIndexErr(index); err == nil && !value.IsZero() {
			details[key] = fmt.Append(nil, reflect.Indirect(value).Interface())
		}
	}
}

func (s *served[C, P, O, V]) readTags() (err error) {
	for i, of := range []reflect.Type{reflect.TypeFor[V](), reflect.TypeFor[O]()} {
		if s.details[i], err = tagsOf(of); err != nil {
			return err
		}
	}
	if s.Await != nil && s.Identity != ByToken && (len(s.details[0]) > 0 || s.Connection != nil) {
		return fmt.Errorf("connection details in what Create answers, by tags in %T or Kind.Connection, and Await need Identity ByToken: "+
			"what is told once would be lost with a process that ends while it waits. Have the vendor repeat its answer, or have secrets "+
			"made up before by +bowline:generated, and put tags of what every look tells into the observation", *new(V))
	}
	s.shown, err = shownSecrets(reflect.TypeFor[P]())
	maps.Copy(s.shown, s.rules.Generated)
	return err
}

// shownSecrets are the fields with tag connection in parameters: references to Secrets whose values, once sent, are
// connection details. They are told by their JSON paths.
func shownSecrets(of reflect.Type) (map[string]string, error) {
	shown := map[string]string{}
	fields, err := taggedIn(of)
	for _, f := range fields {
		if f.Type != reflect.TypeFor[*xpv1.SecretKeySelector]() && f.Type != reflect.TypeFor[*xpv1.LocalSecretKeySelector]() {
			return shown, fmt.Errorf("field %s.%s has tag connection: of parameters only references to Secrets can be connection details", of, f.Name)
		}
		shown[f.path] = f.key
	}
	return shown, err
}

// connection are the details that an answer of the vendor's tells.
func (s *served[C, P, O, V]) connection(c C, have *V, observed *O) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	s.details[0].read(reflect.ValueOf(have).Elem(), details)
	s.details[1].read(reflect.ValueOf(observed).Elem(), details)
	if s.Connection != nil {
		maps.Copy(details, s.Connection(c, have))
	}
	maps.DeleteFunc(details, func(_ string, value []byte) bool { return len(value) == 0 })
	return details
}
