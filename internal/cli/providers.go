// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// A Provider is what the command line needs of a package below providers/. Every field is required.
type Provider struct {
	// Name is how errors call it.
	Name string
	// CRDs returns the definitions of the kinds that it serves.
	CRDs func() ([]*apiextensionsv1.CustomResourceDefinition, error)
	// AddToScheme adds these kinds.
	AddToScheme func(*runtime.Scheme) error
	// SetupWithManager registers its controllers.
	SetupWithManager func(ctrl.Manager, ...managed.ReconcilerOption) error
	// Rules are what its controllers do, besides what all do (see rbac.go).
	Rules func() []rbacv1.PolicyRule
}

// providers is the list of those built in. To add one, add a line.
func providers() []Provider {
	return []Provider{
		{Name: "fcp", CRDs: fcp.CRDs, AddToScheme: fcp.AddToScheme, SetupWithManager: fcp.SetupWithManager, Rules: fcp.Rules},
	}
}

// allCRDs returns the definitions of every kind that the controllers serve.
func allCRDs(from []Provider) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, p := range from {
		crds, err := p.CRDs()
		if err != nil {
			return nil, err
		}
		all = append(all, crds...)
	}
	return all, nil
}
