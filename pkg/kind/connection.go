// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// connectionTags are the fields of a struct with tag connection, as indices by the keys of the connection Secret.
type connectionTags map[string][]int

// taggedFields returns the fields with tag connection, by key. It fails for those whose values cannot be read.
func taggedFields(of reflect.Type) (map[string]mapping.StructField, error) {
	found, wrong := map[string]mapping.StructField{}, []error(nil)
	for _, f := range mapping.StructFields(of) {
		key, tagged := f.Tag.Lookup("connection")
		switch {
		case tagged && f.Unreachable != "":
			wrong = append(wrong, fmt.Errorf("field %s in %s has tag connection: %s cannot be connection details", f.Name, of, f.Unreachable))
		case tagged:
			found[key] = f
		}
	}
	return found, errors.Join(wrong...)
}

// tagsOf fails for fields that have no text form.
func tagsOf(of reflect.Type) (connectionTags, error) {
	fields, err := taggedFields(of)
	if err != nil {
		return nil, err
	}
	tags := connectionTags{}
	for key, f := range fields {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.String && (t.Kind() < reflect.Bool || t.Kind() > reflect.Uint64) {
			return nil, fmt.Errorf("field %s.%s has tag connection: only texts and numbers can be connection details", of, f.Name)
		}
		tags[key] = f.Indices
	}
	return tags, nil
}

// read adds the fields that are set. 0 and false count as unset, unless they are behind a pointer.
func (t connectionTags) read(from reflect.Value, details managed.ConnectionDetails) {
	for key, index := range t {
		if value, err := from.FieldByIndexErr(index); err == nil && !value.IsZero() {
			details[key] = fmt.Append(nil, reflect.Indirect(value).Interface())
		}
	}
}

func (k *compiled[C, P, O, V]) readTags() (err error) {
	for i, of := range []reflect.Type{reflect.TypeFor[V](), reflect.TypeFor[O]()} {
		if k.tags[i], err = tagsOf(of); err != nil {
			return err
		}
	}
	if k.Await != nil && k.Identity != ByToken && (len(k.tags[0]) > 0 || k.Connection != nil) {
		return fmt.Errorf("connection details in the answer of Create, by tags in %T or Kind.Connection, and Await need Identity ByToken: "+
			"a process that ends while it waits would lose one-time values. Let the vendor repeat its answer or generate secrets "+
			"beforehand (+bowline:generated), and tag what every Get returns in the observation", *new(V))
	}
	k.secretKeys, err = secretKeys(reflect.TypeFor[P]())
	maps.Copy(k.secretKeys, k.rules.Generated)
	return err
}

// secretKeys are the keys under which the connection Secret shows the values of Secrets that the parameters refer to, by the
// paths of the references.
func secretKeys(of reflect.Type) (map[string]string, error) {
	keys := map[string]string{}
	fields, err := taggedFields(of)
	for key, f := range fields {
		if f.Type != reflect.TypeFor[*xpv1.SecretKeySelector]() && f.Type != reflect.TypeFor[*xpv1.LocalSecretKeySelector]() {
			return keys, fmt.Errorf("field %s.%s has tag connection: of parameters only references to Secrets can be connection details", of, f.Name)
		}
		keys[f.Path] = key
	}
	return keys, err
}

// connection returns the connection details in an answer of the vendor.
func (k *compiled[C, P, O, V]) connection(c C, have *V, observed *O) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	k.tags[0].read(reflect.ValueOf(have).Elem(), details)
	k.tags[1].read(reflect.ValueOf(observed).Elem(), details)
	if k.Connection != nil {
		maps.Copy(details, k.Connection(c, have))
	}
	maps.DeleteFunc(details, func(_ string, value []byte) bool { return len(value) == 0 })
	return details
}
