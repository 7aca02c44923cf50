// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"reflect"

	"github.com/bowline-dev/bowline/pkg/service/internal/mapping"
)

// makeWant makes what fills Request.Want, unless the author does.
func (s *served[C, P, O, V]) makeWant() error {
	if s.Want != nil {
		s.want = always(s.Want)
		return nil
	}
	m, err := mapping.New[P, V]()
	if err != nil {
		return fmt.Errorf("%w: give Kind.Want", err)
	}
	name := field[string, V]("Name")
	labels := field[map[string]string, V]("Labels", "Tags")
	s.want = func(r *Request[P, V]) (V, error) {
		want, err := m.Copy(&r.Parameters)
		if at := name(&want); s.ID == nil && at != nil && *at == "" {
			*at = r.Name
		}
		if at := labels(&want); at != nil {
			*at = r.Labels
		}
		return want, err
	}
	return nil
}

// field returns what finds the first of the named fields that has type F. It finds nil if there is none.
func field[F, V any](names ...string) func(*V) *F {
	for _, name := range names {
		f, ok := reflect.TypeFor[V]().FieldByName(name)
		if ok && f.Type == reflect.TypeFor[F]() && len(f.Index) == 1 {
			return func(v *V) *F {
				at, _ := reflect.ValueOf(v).Elem().FieldByIndex(f.Index).Addr().Interface().(*F)
				return at
			}
		}
	}
	return func(*V) *F { return nil }
}
