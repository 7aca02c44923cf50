// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"

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
	name, named := field[V, string]("Name")
	labels, labelled := field[V, map[string]string]("Labels", "Tags")
	s.want = func(r *Request[P, V]) (V, error) {
		want, err := m.Copy(&r.Parameters)
		if named && s.ID == nil && name.get(&want) == "" {
			name.set(&want, r.Name)
		}
		if labelled {
			labels.set(&want, r.Labels)
		}
		return want, err
	}
	return nil
}
