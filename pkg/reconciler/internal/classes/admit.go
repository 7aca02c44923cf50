// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// firstFor returns the first of some classes that is for claims of a namespace. If none is, it returns the first of all: package
// claimbinding says of that one that it is not allowed, and goes on with it once it is (N10). The labels of the namespace are
// read where they decide only.
func (c *Classes) firstFor(ctx context.Context, namespace string, some []Class) (Class, error) {
	if len(some) == 1 || some[0].Namespaces == nil {
		return some[0], nil
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := c.mgr.GetAPIReader().Get(ctx, types.NamespacedName{Name: namespace}, ns); err != nil {
		return Class{}, &unreadError{fmt.Errorf("reading the labels of the claim's namespace: %w", err)}
	}
	for _, class := range some {
		if class.admits(ns.Labels) {
			return class, nil
		}
	}
	return some[0], nil
}

// unreadError reports that a request failed on which a choice depends. Nobody tells when it would not fail any more.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// admits is true if the class is for claims of namespaces with the labels. One whose selector cannot be understood is for none.
func (c Class) admits(of labels.Set) bool {
	if c.Namespaces == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(c.Namespaces)
	return err == nil && selector.Matches(of)
}

// namespacesOf returns what a class says of namespaces, nil if it is for all.
func namespacesOf(class client.Object) *metav1.LabelSelector {
	u, ok := class.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	content, ok, err := unstructured.NestedMap(u.Object, "specTemplate", "claims", "namespaceSelector")
	if !ok || err != nil {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector); err != nil {
		return nil
	}
	return selector
}
