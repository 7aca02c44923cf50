// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"fmt"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// A field is the path of a part of the common spec or status, for example spec.claimRef.
type field struct{ section, key string }

// A holder wraps a value in an object for the converter. It omits a nil list, but not an empty one.
type holder[T any] struct {
	Value T `json:"value,omitzero"`
}

// read returns the value of a field: the zero value if it is unset, malformed if it has another type.
func read[T any](m *Managed, from field, malformed T) T {
	var held holder[T]
	value, found, err := kube.NestedFieldNoCopy(m.Object, from.section, from.key)
	if err == nil && found {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"value": value}, &held)
	}
	if err != nil {
		return malformed
	}
	return held.Value
}

// write sets a field, or removes it if the value is the zero value.
func write[T any](m *Managed, to field, value T) {
	part, _ := m.Object[to.section].(map[string]any)
	converted, set := mustConvert(value)
	switch {
	case set && part != nil:
		part[to.key] = converted
	case set:
		if m.Object == nil {
			m.Object = map[string]any{}
		}
		m.Object[to.section] = map[string]any{to.key: converted}
	default:
		delete(part, to.key)
	}
}

// mustConvert returns the JSON form of a value; a zero value is not set. All types of the API convert.
func mustConvert[T any](value T) (converted any, set bool) {
	held, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder[T]{Value: value})
	if err != nil {
		panic(fmt.Errorf("converting %T: %w", value, err))
	}
	converted, set = held["value"]
	return converted, set
}
