// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// HasClassSelector is true for objects that choose their class by labels, be it by none of them (A37, R309).
func HasClassSelector() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ClassSelector)
		return ok && !absent(obj) && o.GetClassSelector() != nil
	}
}

// HasNoClassSelector is true for objects that could choose their class by labels and do not (A37, R309, R311).
func HasNoClassSelector() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ClassSelector)
		return ok && !absent(obj) && o.GetClassSelector() == nil
	}
}

// HasNoClassReference is true for objects that could name a class and do not (A37, R310, R311).
func HasNoClassReference() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ClassReferencer)
		return ok && !absent(obj) && o.GetClassReference() == nil
	}
}

// HasNoManagedResourceReference is true for objects that could name a managed resource and do not (A37, R310, R311).
func HasNoManagedResourceReference() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ManagedResourceReferencer)
		return ok && !absent(obj) && o.GetResourceReference() == nil
	}
}

// HasClassReferenceKind is true for objects that name a class of the kind (A38, R312).
func HasClassReferenceKind(k ClassKind) PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ClassReferencer)
		return ok && !absent(obj) && refersTo(o.GetClassReference(), schema.GroupVersionKind(k))
	}
}

// HasManagedResourceReferenceKind is true for objects that name a managed resource of the kind (A38, R313).
func HasManagedResourceReferenceKind(k ManagedKind) PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(ManagedResourceReferencer)
		return ok && !absent(obj) && refersTo(o.GetResourceReference(), schema.GroupVersionKind(k))
	}
}

// IsPropagator is true for Secrets whose content goes on to other Secrets (A41, R316).
func IsPropagator() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(metav1.Object)
		return ok && !absent(obj) && len(meta.PropagatesTo(o)) > 0
	}
}

// IsPropagated is true for Secrets whose content comes from another Secret (A41, R316).
func IsPropagated() PredicateFn {
	return func(obj runtime.Object) bool {
		o, ok := obj.(metav1.Object)
		if !ok || absent(obj) {
			return false
		}
		_, propagated := meta.PropagatedFrom(o)
		return propagated
	}
}

func refersTo(ref *corev1.ObjectReference, kind schema.GroupVersionKind) bool {
	return ref != nil && ref.GroupVersionKind() == kind
}
