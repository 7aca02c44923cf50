// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// A Class is what a choice depends on.
type Class struct {
	Kind    schema.GroupVersionKind
	Name    string
	Labels  labels.Set
	Default bool
	// ClaimKind is the only one of its claim kinds that the class is for. Empty: it is for all.
	ClaimKind string
	// Namespaces are those whose claims may use the class, by their labels. Nil: all.
	Namespaces *metav1.LabelSelector
}

// newClass reads a class. One whose namespace selector cannot be read allows all namespaces here: package claimbinding checks it.
func newClass(kind schema.GroupVersionKind, o client.Object) *Class {
	c := &Class{
		Kind:    kind,
		Name:    o.GetName(),
		Labels:  o.GetLabels(),
		Default: o.GetAnnotations()[meta.AnnotationKeyDefaultClass] == "true", // R252
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		c.ClaimKind, _, _ = unstructured.NestedString(u.Object, "specTemplate", "claimKind")
		content, ok, err := unstructured.NestedMap(u.Object, "specTemplate", "claims", "namespaceSelector")
		selector := &metav1.LabelSelector{}
		if ok && err == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector) == nil {
			c.Namespaces = selector
		}
	}
	return c
}

// String names the class in messages.
func (c Class) String() string { return c.Kind.GroupKind().String() + " " + c.Name }

// Admits is true if the class is for claims of namespaces with the labels. One with an invalid selector is for none.
func (c Class) Admits(of labels.Set) bool {
	if c.Namespaces == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(c.Namespaces)
	return err == nil && selector.Matches(of)
}

func compareClasses(a, b Class) int {
	return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Name, b.Name))
}
