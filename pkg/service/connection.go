// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Tags are the fields of a struct with tag connection, by the keys of the connection secret.
type tags map[string][]int

// tagsOf fails for fields that have no text form.
func tagsOf(of reflect.Type) (tags, error) {
	found := tags{}
	for _, f := range reflect.VisibleFields(of) {
		key, ok := f.Tag.Lookup("connection")
		if !ok {
			continue
		}
		switch f.Type.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			found[key] = f.Index
		default:
			return nil, fmt.Errorf("field %s.%s has tag connection: only texts and numbers can be connection details", of, f.Name)
		}
	}
	return found, nil
}

// read adds the fields that are set to the details.
func (t tags) read(from reflect.Value, details managed.ConnectionDetails) {
	for key, index := range t {
		if value, err := from.FieldByIndexErr(index); err == nil && !value.IsZero() {
			details[key] = fmt.Append(nil, value.Interface())
		}
	}
}

func (s *served[C, P, O, V]) readTags() (err error) {
	for i, of := range []reflect.Type{reflect.TypeFor[V](), reflect.TypeFor[O]()} {
		if s.details[i], err = tagsOf(of); err != nil {
			return err
		}
	}
	s.shown, err = shownSecrets(reflect.TypeFor[P]())
	maps.Copy(s.shown, s.rules.Generated)
	return err
}

// shownSecrets are the fields with tag connection in parameters: references to Secrets whose values, once sent, are
// connection details. They are told by their JSON names.
func shownSecrets(of reflect.Type) (map[string]string, error) {
	shown := map[string]string{}
	for _, f := range reflect.VisibleFields(of) {
		key, ok := f.Tag.Lookup("connection")
		if !ok {
			continue
		}
		if f.Type != reflect.TypeFor[*xpv1.SecretKeySelector]() && f.Type != reflect.TypeFor[*xpv1.LocalSecretKeySelector]() {
			return shown, fmt.Errorf("field %s.%s has tag connection: of parameters only references to Secrets can be connection details", of, f.Name)
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		shown[name] = key
	}
	return shown, nil
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
