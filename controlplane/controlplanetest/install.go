// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// Install applies CRDs and waits until their objects can be watched and are discovered. Every package of a test run may install the
// same ones.
func Install(ctx context.Context, config *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	report, err := crd.Apply(ctx, config, crds...)
	if err == nil && len(report.Skipped) > 0 {
		err = errors.New(report.String())
	}
	if err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("building discovery client: %w", err)
	}
	for _, definition := range crds {
		if err := testkit.Poll(ctx, func() error { return discovered(d, definition) }); err != nil {
			return fmt.Errorf("waiting for custom resource definition %s: %w", definition.Name, err)
		}
	}
	return nil
}

// discovered checks every served version: clients without generated types learn resources from discovery, which is behind.
func discovered(d discovery.DiscoveryInterface, definition *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range definition.Spec.Versions {
		if !v.Served {
			continue
		}
		found, err := d.ServerResourcesForGroupVersion(definition.Spec.Group + "/" + v.Name)
		if err != nil {
			return err
		}
		plural := func(r metav1.APIResource) bool { return r.Name == definition.Spec.Names.Plural }
		if !slices.ContainsFunc(found.APIResources, plural) {
			return fmt.Errorf("version %s is not discovered yet", v.Name)
		}
	}
	return nil
}
