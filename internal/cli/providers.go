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

// A provider is what the command line needs of a package below providers/.
type provider struct {
	name             string
	crds             func() ([]*apiextensionsv1.CustomResourceDefinition, error) // the kinds it serves
	addToScheme      func(*runtime.Scheme) error
	setupWithManager func(ctrl.Manager, ...managed.ReconcilerOption) error // registers its controllers
	rules            func() []rbacv1.PolicyRule                            // what its controllers do, besides what all do (see rbac.go)
}

// providers is the list of those built in. To add one, add a line.
func providers() []provider {
	return []provider{
		{name: "fcp", crds: fcp.CRDs, addToScheme: fcp.AddToScheme, setupWithManager: fcp.SetupWithManager, rules: fcp.Rules},
	}
}

// allCRDs returns the definitions of every kind that the controllers serve.
func allCRDs(from []provider) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, p := range from {
		crds, err := p.crds()
		if err != nil {
			return nil, err
		}
		all = append(all, crds...)
	}
	return all, nil
}
