// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"fmt"
	"strings"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func setConditions(o wrapper, c []xpv1.Condition) {
	have := conditionsOf(o)
	have.SetConditions(c...)
	write(o, "status.conditions", have.Conditions)
}

func conditionsOf(o wrapper) *xpv1.ConditionedStatus {
	return &xpv1.ConditionedStatus{Conditions: read[[]xpv1.Condition](o, "status.conditions", nil)}
}

// filled is nil for a list without entries, which the API leaves out.
func filled[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// A holder wraps a value in an object for the converter. It omits a nil list, but not an empty one.
type holder[T any] struct {
	Value T `json:"value,omitzero"`
}

// read returns the value of a field such as spec.claimRef: the zero value if it is unset, malformed if it has another type.
func read[T any](o wrapper, path string, malformed T) T {
	var held holder[T]
	value, found, err := kube.NestedFieldNoCopy(o.GetUnstructured().Object, strings.Split(path, ".")...)
	if err == nil && found {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"value": value}, &held)
	}
	if err != nil {
		return malformed
	}
	return held.Value
}

// write sets a field, or removes it if the value is the zero value.
func write[T any](o wrapper, path string, value T) {
	held, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder[T]{Value: value})
	if err != nil {
		panic(fmt.Errorf("converting %T: %w", value, err)) // all types of the API convert
	}
	section, key, _ := strings.Cut(path, ".")
	u := o.GetUnstructured()
	part, _ := u.Object[section].(map[string]any)
	converted, set := held["value"]
	switch {
	case set && part != nil:
		part[key] = converted
	case set:
		if u.Object == nil {
			u.Object = map[string]any{}
		}
		u.Object[section] = map[string]any{key: converted}
	default:
		delete(part, key)
	}
}
