// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"reflect"
	"slices"
	"strings"
)

// closed are the fields to which late initialization must not add, though the vendor has more: maps in which anything is
// set, else a key that the user removes would come back (R149), unless the kind says that others add to them (R151); and
// immutable fields that are set, since the API server would refuse the rest.
func (s *served[C, P, O, V]) closed(p *P) []string {
	var fields []string
	visit(reflect.ValueOf(p).Elem(), "", func(path string, v reflect.Value) {
		users := v.Kind() == reflect.Map && v.Len() > 0 && !slices.Contains(s.rules.Extra, path)
		if users || slices.Contains(s.rules.Immutable, path) && !v.IsZero() {
			fields = append(fields, path)
		}
	})
	return fields
}

// visit calls back for each field of a struct and of the structs in it, by its JSON path. It does not look into lists.
func visit(in reflect.Value, at string, call func(path string, v reflect.Value)) {
	for i := range in.NumField() {
		f, v := in.Type().Field(i), in.Field(i)
		if !f.IsExported() {
			continue
		}
		path := at
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			path = strings.TrimPrefix(at+"."+name, ".")
			call(path, v)
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			visit(v, path, call)
		}
	}
}
