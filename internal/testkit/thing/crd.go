// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	_ "embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed test.bowline.dev_things.yaml
var generated []byte

// CRD of Thing.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(generated, crd); err != nil {
		panic(err) // the generator wrote what is no CRD
	}
	return crd
}

// LocalCRD is that of Thing in a namespace, where it names its connection secret without one (N2).
func LocalCRD() *apiextensionsv1.CustomResourceDefinition {
	crd := CRD()
	crd.Name = "things." + LocalGroupVersionKind.Group
	crd.Spec.Group = LocalGroupVersionKind.Group
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	ref := spec.Properties["writeConnectionSecretToRef"]
	ref.XValidations = nil
	spec.Properties["writeConnectionSecretToRef"] = ref
	return crd
}
