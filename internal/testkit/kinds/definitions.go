// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions of the kinds.
func (g Groups) Definitions() []*apiextensionsv1.CustomResourceDefinition {
	const cluster, namespaced = apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped
	user := func(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		d.Labels = map[string]string{"bowline.dev/provider-config": d.Spec.Group}
		return d
	}
	return []*apiextensionsv1.CustomResourceDefinition{
		Definition(g.Cluster, "ProviderConfig", cluster), user(Definition(g.Cluster, "Item", cluster)),
		Definition(g.Namespaced, "ProviderConfig", namespaced), Definition(g.Namespaced, "ClusterProviderConfig", cluster),
		user(Definition(g.Namespaced, "Item", namespaced)),
	}
}

// Definition of a kind that takes any spec and status.
func Definition(gv schema.GroupVersion, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	open := true
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + gv.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gv.Group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gv.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object},
				}},
			}},
		},
	}
}
