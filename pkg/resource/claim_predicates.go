// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// HasClassSelector is true for objects that select their class by labels, also by an empty selector (A37, R309).
func HasClassSelector() PredicateFn {
	return where(func(o ClassSelector) bool { return o.GetClassSelector() != nil })
}

// HasNoClassSelector is true for objects that could select their class by labels and do not (A37, R309, R311).
func HasNoClassSelector() PredicateFn {
	return where(func(o ClassSelector) bool { return o.GetClassSelector() == nil })
}

// HasNoClassReference is true for objects that could refer to a class and do not (A37, R310, R311).
func HasNoClassReference() PredicateFn {
	return where(func(o ClassReferencer) bool { return o.GetClassReference() == nil })
}

// HasNoManagedResourceReference is true for objects that could refer to a managed resource and do not (A37, R310, R311).
func HasNoManagedResourceReference() PredicateFn {
	return where(func(o ManagedResourceReferencer) bool { return o.GetResourceReference() == nil })
}

// HasClassReferenceKind is true for objects that refer to a class of the kind (A38, R312).
func HasClassReferenceKind(k ClassKind) PredicateFn {
	return where(func(o ClassReferencer) bool { return refersTo(o.GetClassReference(), schema.GroupVersionKind(k)) })
}

// HasManagedResourceReferenceKind is true for objects that refer to a managed resource of the kind (A38, R313).
func HasManagedResourceReferenceKind(k ManagedKind) PredicateFn {
	return where(func(o ManagedResourceReferencer) bool {
		return refersTo(o.GetResourceReference(), schema.GroupVersionKind(k))
	})
}

// IsPropagator is true for Secrets whose content is copied to other Secrets (A41, R316).
func IsPropagator() PredicateFn {
	return where(func(o metav1.Object) bool { return len(meta.PropagatesTo(o)) > 0 })
}

// IsPropagated is true for Secrets whose content is a copy of another Secret (A41, R316).
func IsPropagated() PredicateFn {
	return where(func(o metav1.Object) bool { _, propagated := meta.PropagatedFrom(o); return propagated })
}

func refersTo(ref *corev1.ObjectReference, kind schema.GroupVersionKind) bool {
	return ref != nil && ref.GroupVersionKind() == kind
}
