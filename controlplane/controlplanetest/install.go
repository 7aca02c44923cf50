// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
)

const (
	fieldManager = "bowline-crds"
	installLimit = 30 * time.Second
)

// Install applies custom resource definitions and waits until objects of their kinds can be created and discovery contains every
// served version. It may be repeated, also by several test binaries at once.
func Install(ctx context.Context, config *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("building client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("building discovery client: %w", err)
	}
	for _, crd := range crds {
		if err := apply(ctx, c, crd); err != nil {
			return fmt.Errorf("applying custom resource definition %s: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := testkit.Poll(ctx, func() error { return served(ctx, c, d, crd) }); err != nil {
			return fmt.Errorf("waiting for custom resource definition %s: %w", crd.Name, err)
		}
	}
	return nil
}

// apply applies a definition without the fields that the server owns.
func apply(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	for _, field := range [][]string{{"status"}, {"metadata", "creationTimestamp"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "uid"}} {
		unstructured.RemoveNestedField(u.Object, field...)
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership)
}

// served returns nil if every served version of a definition is available, else what is missing.
func served(ctx context.Context, c client.Client, d discovery.DiscoveryInterface, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gv.WithKind(crd.Spec.Names.ListKind))
		if list.GetKind() == "" {
			list.SetKind(crd.Spec.Names.Kind + "List")
		}
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("listing %s: %w", gv.WithKind(crd.Spec.Names.Kind), err)
		}
		found, err := d.ServerResourcesForGroupVersion(gv.String())
		if err != nil {
			return fmt.Errorf("discovering %s: %w", gv, err)
		}
		if !contains(found.APIResources, crd.Spec.Names.Plural) {
			return fmt.Errorf("%s is not discovered yet", gv.WithResource(crd.Spec.Names.Plural))
		}
	}
	return nil
}
