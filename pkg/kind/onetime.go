// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"maps"
	"reflect"
	"slices"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// OneTimeKeys returns the keys of what the answer of Create may publish and no later answer need repeat: those of an answer without
// empty fields. What the observation publishes comes back by itself (N22).
func (c *client[C, P, O, V]) OneTimeKeys() (keys []string) {
	defer func() {
		if recover() != nil { // Kind.Connection makes nothing of such an answer
			keys = []string{managed.AnyKey}
		}
	}()
	answer := new(V)
	fill(reflect.ValueOf(answer).Elem(), 0)
	details := c.connection(c.Client, answer, new(O))
	for key := range c.tags[1] {
		delete(details, key)
	}
	for field, key := range c.secretKeys {
		if len(c.secrets[field]) > 0 {
			details[key] = nil
		}
	}
	return slices.Collect(maps.Keys(details))
}

// fill sets every field that can be set, down to a depth that ends types that contain themselves.
func fill(v reflect.Value, depth int) {
	const deepest = 8
	if !v.CanSet() || depth > deepest {
		return
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString("1")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}
