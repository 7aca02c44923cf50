// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// A declaration is what an object declares. Its trees are made once for each look.
type declaration[P any] struct {
	desired, initial map[string]any // spec.forProvider and spec.initProvider
	whole            P              // the first laid over the second, as parameters.ForCreation does it (R138)
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
	return s.kept(of, func(d declaration[P]) map[string]any { return d.initial })
}

// sent are those of them that Update is to send: a struct of which spec.forProvider has nothing is left out unless all of it
// is fixed, since to send a part of it may erase the rest.
func (s *served[C, P, O, V]) sent(of Object[P, O]) (P, error) {
	return s.kept(of, func(d declaration[P]) map[string]any { return d.desired })
}

func (s *served[C, P, O, V]) kept(of Object[P, O], within func(declaration[P]) map[string]any) (P, error) {
	d, err := declare(of)
	fixed := s.fixedIn("", d.initial, within(d))
	if err != nil || len(fixed) == 0 {
		return *of.Parameters(), err
	}
	return parameters.Typed[P](parameters.Overlay(d.desired, fixed))
}

// fixedIn is what of a tree cannot change. It looks into those objects that another tree has, too.
func (s *served[C, P, O, V]) fixedIn(at string, tree, within map[string]any) map[string]any {
	fixed := map[string]any{}
	for name, field := range tree {
		below, isObject := field.(map[string]any)
		other, has := within[name].(map[string]any)
		if s.rules.Fixed(at + name) {
			fixed[name] = field
		} else if isObject && has {
			if part := s.fixedIn(at+name+".", below, other); len(part) > 0 {
				fixed[name] = part
			}
		}
	}
	return fixed
}
