// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifests returns the definitions and admission policies of the files as Apply and Protect write them: with LabelManagedBy, so that a
// program which installs definitions keeps those up to date that a person applied.
func Manifests(files fs.FS) ([]*unstructured.Unstructured, error) {
	all, err := read(files)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	known := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(known); err != nil {
		return nil, err
	}
	for _, definition := range all.definitions {
		object, err := toApply(complete(known, definition))
		if err != nil {
			return nil, fmt.Errorf("definition %s: %w", definition.Name, err)
		}
		objects = append(objects, object)
	}
	for _, policy := range all.policies {
		object := policy.DeepCopy()
		object.SetLabels(map[string]string{LabelManagedBy: ManagedBy})
		objects = append(objects, object)
	}
	return objects, nil
}
