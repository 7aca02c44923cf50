// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// An object is a managed resource in memory, and what of it is stored.
type object struct {
	managed    resource.Managed
	newManaged func() resource.Managed

	// annotations are those in the API server; in memory there may be an external name that is not stored yet.
	annotations map[string]string

	// stored is the spec in the API server, spec the one that steps derived from it; see storeSpec.
	stored any
	spec   any
}

// rebuild replaces the object in memory by one with a changed tree.
func (o *object) rebuild(change func(tree)) error {
	u, err := treeOf(o.managed)
	if err != nil {
		return err
	}
	change(u)
	fresh := o.newManaged()
	if err := fill(fresh, u); err != nil {
		return err
	}
	o.managed = fresh
	return nil
}

// withSpec returns the object with the given spec and the annotations that are stored. now is its tree in memory, where the
// external name may be set already, and where a careless client may have changed the spec.
func (o *object) withSpec(now tree, spec any) (resource.Managed, error) {
	u := maps.Clone(now)
	u["metadata"] = maps.Clone(section(now, "metadata")) // a kind without a Go type writes into it
	put(u, "spec", spec)
	mg := o.newManaged()
	if err := fill(mg, u); err != nil {
		return nil, err
	}
	mg.SetAnnotations(maps.Clone(o.annotations))
	return mg, nil
}

// takeMetadata replaces the metadata in memory by that of the object as just written.
func (o *object) takeMetadata(from resource.Managed) {
	o.annotations = maps.Clone(from.GetAnnotations())
	o.managed.SetAnnotations(from.GetAnnotations())
	o.managed.SetResourceVersion(from.GetResourceVersion())
	o.managed.SetGeneration(from.GetGeneration())
	o.managed.SetLabels(from.GetLabels())
	o.managed.SetFinalizers(from.GetFinalizers())
	o.managed.SetOwnerReferences(from.GetOwnerReferences())
	o.managed.SetDeletionTimestamp(from.GetDeletionTimestamp())
	o.managed.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
}

// A tree is an object, or a part of it, in the form of its JSON. Steps that serve any kind work on trees.
type tree = map[string]any

// treeOf returns a copy of the object as a tree.
func treeOf(mg resource.Managed) (tree, error) {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
	if err != nil {
		return nil, fmt.Errorf("reading %T: %w", mg, err)
	}
	return u, nil
}

// fill sets an empty object from a tree.
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
