// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A ManagedKind is the kind of a managed resource (A34).
type ManagedKind schema.GroupVersionKind

// A ClaimKind is the kind of a resource claim (A34).
type ClaimKind schema.GroupVersionKind

// A ClassKind is the kind of a resource class (A34).
type ClassKind schema.GroupVersionKind

// A TargetKind is the kind of a target (A34).
type TargetKind schema.GroupVersionKind

// GetKind returns the kind of an object according to the typer, usually a scheme. It fails for a type that the typer does not know,
// or knows by several kinds.
func GetKind(obj runtime.Object, ot runtime.ObjectTyper) (schema.GroupVersionKind, error) {
	if absent(obj) {
		return schema.GroupVersionKind{}, errors.New("finding the kind of an object: there is no object")
	}
	kinds, unversioned, err := ot.ObjectKinds(obj)
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %w", err)
	case unversioned:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %T has no version", obj)
	case len(kinds) != 1:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %T is registered as %d kinds", obj, len(kinds))
	}
	return kinds[0], nil
}

// MustCreateObject returns an empty object of a kind that the program registered with the creater, usually a scheme. It panics if
// the kind is not registered.
func MustCreateObject(kind schema.GroupVersionKind, oc runtime.ObjectCreater) runtime.Object {
	obj, err := oc.New(kind)
	if err != nil {
		panic(fmt.Errorf("creating an object of kind %s: %w", kind, err))
	}
	return obj
}
