// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"reflect"
	"slices"
)

// Pointers returns the JSON paths of the fields of To that are pointers and whose counterparts are pointers too, so that zero and
// unset are distinguished. Fields in lists and maps are left out, and a type that contains itself is entered once.
func Pointers[From, To any]() []string {
	return pointers(reflect.TypeFor[To](), reflect.TypeFor[From](), "", nil)
}

func pointers(to, from reflect.Type, at string, above []pair) (paths []string) {
	if to.Kind() != reflect.Struct || from.Kind() != reflect.Struct || slices.Contains(above, pair{to, from}) {
		return nil
	}
	above = append(slices.Clone(above), pair{to, from})
	for _, target := range fields(to) {
		source, ok := counterpart(target, from)
		if !ok {
			continue
		}
		path := join(at, jsonName(target))
		if target.Type.Kind() == reflect.Pointer && source.Type.Kind() == reflect.Pointer {
			paths = append(paths, path)
		}
		paths = append(paths, pointers(pointedAt(target.Type), pointedAt(source.Type), path, above)...)
	}
	return paths
}

func pointedAt(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
