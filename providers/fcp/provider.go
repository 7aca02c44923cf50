// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fcp is the provider of the favourite cloud: its kinds, their custom resource definitions, their controllers
// and what these need to be allowed.
package fcp

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
	"github.com/bowline-dev/bowline/providers/fcp/controller"
)

// CRDs returns the custom resource definitions of the provider's kinds.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := crd.Load(crds.FS)
	if err != nil {
		return nil, fmt.Errorf("loading custom resource definitions of provider fcp: %w", err)
	}
	return all, nil
}

// AddToScheme adds the provider's kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error { return apis.AddToScheme(s) }

// SetupWithManager adds the provider's controllers to the manager. The options are given to every reconciler.
func SetupWithManager(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
	return controller.SetupWithManager(mgr, o...)
}

// Rules are what the provider's controllers must be allowed, beside what the runtime needs for any provider.
func Rules() []rbacv1.PolicyRule {
	return slices.Concat(
		allow("fcp.crossplane.io", "providerconfigs"),
		allow("fcp.m.crossplane.io", "clusterproviderconfigs", "providerconfigs"),
		allow("database.fcp.crossplane.io", "favouritedbinstances"),
		allow("network.fcp.crossplane.io", "networks"),
		allow("network.fcp.m.crossplane.io", "networks", "subnets"),
		allow("compute.fcp.m.crossplane.io", "nodegroups"),
	)
}

// allow lets controllers look at objects, and change their metadata, specs and statuses.
func allow(group string, resources ...string) []rbacv1.PolicyRule {
	statuses := make([]string, 0, len(resources))
	for _, r := range resources {
		statuses = append(statuses, r+"/status")
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{group}, Resources: statuses, Verbs: []string{"patch"}},
	}
}
