// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/testkit/shop/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// CRDs returns the definitions of the kinds.
func CRDs() []*apiextensionsv1.CustomResourceDefinition {
	all, err := crd.Load(crds.FS)
	if err != nil {
		panic(err) // the generator wrote what is no definition
	}
	return all
}
