// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/parameters"
)

// A declaration is what an object declares. Its trees are made once for each look.
type declaration[P any] struct {
	desired, initial map[string]any // spec.forProvider and spec.initProvider
	whole            P              // the first laid over the second (R138)
}

func declare[P, O any](of Object[P, O]) (d declaration[P], err error) {
	d.whole = *of.Parameters()
	var initial error
	if init, ok := of.(interface{ InitParameters() any }); ok {
		d.initial, initial = parameters.Tree(init.InitParameters())
	}
	if d.desired, err = parameters.Tree(d.whole); err == nil && len(d.initial) > 0 {
		d.whole, err = parameters.Typed[P](parameters.Overlay(d.desired, d.initial))
	}
	if err = errors.Join(err, initial); err != nil {
		return d, fmt.Errorf("laying spec.forProvider over spec.initProvider: %w", err)
	}
	return d, nil
}

// lasting are the parameters of an external resource that is there: spec.forProvider, and those of spec.initProvider that
// cannot change, which may say where it is. All others count at creation only (R138).
func (s *served[C, P, O, V]) lasting(of Object[P, O]) (P, error) {
	d, err := declare(of)
	fixed := s.fixedIn("", d.initial)
	if err != nil || len(fixed) == 0 {
		return *of.Parameters(), err
	}
	return parameters.Typed[P](parameters.Overlay(d.desired, fixed))
}

// fixedIn is what of a tree cannot change.
func (s *served[C, P, O, V]) fixedIn(at string, tree map[string]any) map[string]any {
	fixed := map[string]any{}
	for name, field := range tree {
		if s.rules.Fixed(at + name) {
			fixed[name] = field
		} else if below, ok := field.(map[string]any); ok {
			if part := s.fixedIn(at+name+".", below); len(part) > 0 {
				fixed[name] = part
			}
		}
	}
	return fixed
}
