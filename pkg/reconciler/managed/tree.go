// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// A tree is an object, or a part of it, as its JSON stands in the API. Steps that work on any kind work on trees.
type tree = map[string]any

// treeOf returns a copy of the object as a tree.
func treeOf(mg resource.Managed) (tree, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		return nil, fmt.Errorf("reading %T: %w", mg, err)
	}
	return u, nil
}

// fill makes an empty object what the tree says.
func fill(empty resource.Managed, from tree) error {
	if u, ok := empty.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(from)
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, empty); err != nil {
		return fmt.Errorf("writing %T: %w", empty, err)
	}
	return nil
}

// rebuild replaces the object in memory by one with a changed tree.
func (p *pass) rebuild(change func(tree)) error {
	u, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	change(u)
	fresh := p.newManaged()
	if err := fill(fresh, u); err != nil {
		return err
	}
	p.managed = fresh
	return nil
}

// put sets a part of the tree, or removes it if there is nothing to set.
func put(in tree, key string, part any) {
	if part == nil {
		delete(in, key)
		return
	}
	in[key] = runtime.DeepCopyJSONValue(part)
}

// section returns a part of the tree that is itself a tree, nil if there is none.
func section(of any, key string) tree {
	t, _ := of.(tree)
	s, _ := t[key].(tree)
	return s
}
