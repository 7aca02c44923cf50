// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package thing is a managed kind for tests of the managed reconciler, and an external system in memory whose faults a
// test can choose.
package thing

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// GroupVersionKind of Thing.
var GroupVersionKind = schema.GroupVersionKind{Group: "test.bowline.dev", Version: "v1", Kind: "Thing"}

// A Thing is a managed resource with a size.
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec of a Thing.
type Spec struct {
	xpv1.ResourceSpec `json:",inline"`
	ForProvider       Parameters `json:"forProvider"`
}

// Parameters of a Thing.
type Parameters struct {
	Size int `json:"size"`
}

// Status of a Thing.
type Status struct {
	xpv1.ResourceStatus `json:",inline"`
	AtProvider          Parameters `json:"atProvider,omitempty"`
}

// List contains a list of Thing.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Thing `json:"items"`
}

// AddToScheme adds Thing, and the core kinds that the runtime writes.
func AddToScheme(s *runtime.Scheme) error {
	gv := GroupVersionKind.GroupVersion()
	s.AddKnownTypes(gv, &Thing{})
	s.AddKnownTypeWithName(gv.WithKind("ThingList"), &List{})
	metav1.AddToGroupVersion(s, gv)
	return corev1.AddToScheme(s)
}

// CRD of Thing.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	open := true
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.test.bowline.dev"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: GroupVersionKind.Group,
			Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: "Thing", ListKind: "ThingList", Plural: "things", Singular: "thing",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersionKind.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object},
				}},
			}},
		},
	}
}

// DeepCopyObject copies the Thing.
func (t *Thing) DeepCopyObject() runtime.Object {
	out := &Thing{TypeMeta: t.TypeMeta, Spec: t.Spec, Status: t.Status}
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	t.Spec.ResourceSpec.DeepCopyInto(&out.Spec.ResourceSpec)
	t.Status.ResourceStatus.DeepCopyInto(&out.Status.ResourceStatus)
	return out
}

// DeepCopyObject copies the list.
func (l *List) DeepCopyObject() runtime.Object {
	out := &List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Thing))
	}
	return out
}
