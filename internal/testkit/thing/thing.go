// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package thing is a managed kind for tests of the managed reconciler, and an external system in memory with knobs.
//
// The kind is like one of a provider. After a change of its types run go generate in this folder.
//
// +groupName=test.bowline.dev
// +versionName=v1
package thing

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object:headerFile=../../../tools/header.go.txt crd:crdVersions=v1 paths=. output:crd:dir=.

// GroupVersionKind of Thing.
var GroupVersionKind = schema.GroupVersionKind{Group: "test.bowline.dev", Version: "v1", Kind: "Thing"}

// LocalGroupVersionKind is that of Thing in a namespace.
var LocalGroupVersionKind = schema.GroupVersionKind{Group: "test.m.bowline.dev", Version: "v1", Kind: "Thing"}

// A Thing is a managed resource with settings of every shape: a number, an optional string, a list of objects, a map
// and a secret.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec of a Thing.
// +kubebuilder:validation:XValidation:rule="has(self.forProvider.size) || self.?initProvider.?size.hasValue()",message="spec.forProvider.size is required, there or in spec.initProvider"
// +kubebuilder:object:generate=true
type Spec struct {
	xpv1.ResourceSpec `json:",inline"`

	// +kubebuilder:validation:XValidation:rule="!has(self.zone) || self.zone.size() <= 8",message="zone has more than 8 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.accessToken) || self.accessToken.size() <= 32",messageExpression="'accessToken has more than 32 characters: ' + self.accessToken"
	ForProvider Parameters `json:"forProvider"`
	// +optional
	InitProvider *Parameters `json:"initProvider,omitempty"`
}

// Parameters of a Thing. Only size is required.
// +kubebuilder:object:generate=true
type Parameters struct {
	// +optional
	Size int `json:"size,omitempty"`

	// Zone is chosen by the system if it is unset.
	// +optional
	Zone *string `json:"zone,omitempty"`

	// +optional
	ScalingConfig []Scaling `json:"scalingConfig,omitempty"`

	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Neighbour is the external name of another Thing.
	// +optional
	Neighbour *string `json:"neighbour,omitempty"`
	// +optional
	NeighbourRef *xpv1.Reference `json:"neighbourRef,omitempty"`
	// +optional
	NeighbourSelector *xpv1.Selector `json:"neighbourSelector,omitempty"`

	// PasswordSecretRef selects the password.
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`

	// AccessToken must not be shown.
	// +optional
	AccessToken *string `json:"accessToken,omitempty"`
}

// Scaling of a Thing.
// +kubebuilder:object:generate=true
type Scaling struct {
	// +optional
	MinSize *int `json:"minSize,omitempty"`
	// +optional
	MaxSize *int `json:"maxSize,omitempty"`
	// +optional
	DesiredSize *int `json:"desiredSize,omitempty"`
}

// Status of a Thing.
// +kubebuilder:object:generate=true
type Status struct {
	xpv1.ResourceStatus `json:",inline"`

	// +optional
	AtProvider Parameters `json:"atProvider,omitempty"`
}

// List contains a list of Thing.
// +kubebuilder:object:root=true
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Thing `json:"items"`
}

// AddToScheme adds Thing, and the core kinds that the runtime writes.
func AddToScheme(s *runtime.Scheme) error { return addToScheme(s, GroupVersionKind) }

// AddLocalToScheme adds Thing as the namespaced kind. It is the same Go type, so a scheme holds the one or the other.
func AddLocalToScheme(s *runtime.Scheme) error { return addToScheme(s, LocalGroupVersionKind) }

func addToScheme(s *runtime.Scheme, of schema.GroupVersionKind) error {
	gv := of.GroupVersion()
	s.AddKnownTypes(gv, &Thing{})
	s.AddKnownTypeWithName(gv.WithKind("ThingList"), &List{})
	metav1.AddToGroupVersion(s, gv)
	return corev1.AddToScheme(s)
}

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
