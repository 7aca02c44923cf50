// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// A declaration is what an object declares. Its trees are built once for each observation.
type declaration[P any] struct {
	desired, initial map[string]any // spec.forProvider and spec.initProvider
	merged           P              // desired over initial (R138)
}

func declare[P, O any](of Object[P, O]) (d declaration[P], err error) {
	d.merged = *of.Parameters()
	var initial error
	if init, ok := of.(interface{ InitParameters() any }); ok {
		d.initial, initial = parameters.Tree(init.InitParameters())
	}
	if d.desired, err = parameters.Tree(d.merged); err == nil && len(d.initial) > 0 {
		d.merged, err = parameters.Typed[P](parameters.Overlay(d.desired, d.initial))
	}
	if err = errors.Join(err, initial); err != nil {
		return d, fmt.Errorf("merging spec.forProvider and spec.initProvider: %w", err)
	}
	return d, nil
}

// deleteParameters are spec.forProvider and the immutable fields of spec.initProvider, which may be needed to address the
// resource. The other fields count at creation only (R138).
func (k *compiled[C, P, O, V]) deleteParameters(of Object[P, O]) (P, error) {
	return k.withImmutable(of, func(d declaration[P]) map[string]any { return d.initial })
}

// updateParameters are deleteParameters without those in structs that spec.forProvider leaves out, unless the whole struct is
// immutable: to send a part of a struct may erase the rest of it.
func (k *compiled[C, P, O, V]) updateParameters(of Object[P, O]) (P, error) {
	return k.withImmutable(of, func(d declaration[P]) map[string]any { return d.desired })
}

func (k *compiled[C, P, O, V]) withImmutable(of Object[P, O], within func(declaration[P]) map[string]any) (P, error) {
	d, err := declare(of)
	immutable := k.immutableIn("", d.initial, within(d))
	if err != nil || len(immutable) == 0 {
		return *of.Parameters(), err
	}
	return parameters.Typed[P](parameters.Overlay(d.desired, immutable))
}

// immutableIn returns the immutable fields of a tree. It enters only objects that the tree within has, too.
func (k *compiled[C, P, O, V]) immutableIn(at string, tree, within map[string]any) map[string]any {
	immutable := map[string]any{}
	for name, field := range tree {
		below, isObject := field.(map[string]any)
		other, has := within[name].(map[string]any)
		if k.rules.IsImmutable(at + name) {
			immutable[name] = field
		} else if isObject && has {
			if part := k.immutableIn(at+name+".", below, other); len(part) > 0 {
				immutable[name] = part
			}
		}
	}
	return immutable
}
