// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package thing is a managed kind for tests of the managed reconciler, and an external system in memory with knobs.
//
// The kind is like one of a provider. After a change of its types run go generate in this folder.
//
// +kubebuilder:object:generate=true
// +groupName=test.bowline.dev
// +versionName=v1
// +bowline:generate
package thing

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

//go:generate go run github.com/bowline-dev/bowline/internal/codegen/cmd .

// LocalGroupVersionKind is that of Thing in a namespace.
var LocalGroupVersionKind = schema.GroupVersionKind{Group: "test.m.bowline.dev", Version: "v1", Kind: "Thing"}

// A Thing is a managed resource with settings of every shape: a number, an optional string, a list of objects, a map
// and a secret.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
// +kubebuilder:resource:scope=Cluster,categories=managed
// +bowline:nolint=provider-config it has none
// +bowline:nolint=settings it observes what was set
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec of a Thing.
// +kubebuilder:validation:XValidation:rule="has(self.forProvider.size) || self.?initProvider.?size.hasValue()",message="spec.forProvider.size is required, there or in spec.initProvider"
type Spec struct {
	xpv1.ResourceSpec `json:",inline"`

	// +kubebuilder:validation:XValidation:rule="!has(self.zone) || self.zone.size() <= 8",message="zone has more than 8 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.accessToken) || self.accessToken.size() <= 32",messageExpression="'accessToken has more than 32 characters: ' + self.accessToken"
	ForProvider Parameters `json:"forProvider"`
	// +optional
	InitProvider *Parameters `json:"initProvider,omitempty"`
}

// Observation of a Thing: the system reports all settings as it takes them.
type Observation = Parameters

// Parameters of a Thing. Only size is required.
// https://things.example.org
type Parameters struct {
	// Size that a thing needs.
	// +bowline:nolint=optional no thing is of size 0
	// +optional
	Size int `json:"size,omitempty"`

	// Zone is chosen by the system if it is unset.
	// +optional
	Zone *string `json:"zone,omitempty"`

	// ScalingConfig has limits.
	// +optional
	ScalingConfig []Scaling `json:"scalingConfig,omitempty"`

	// Tags, beside which the system may set others.
	// +bowline:compare=extra
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Neighbour is the external name of another Thing.
	// +crossplane:generate:reference:type=Thing
	// +optional
	Neighbour *string `json:"neighbour,omitempty"`
	// NeighbourRef names the other Thing.
	// +optional
	NeighbourRef *xpv1.Reference `json:"neighbourRef,omitempty"`
	// NeighbourSelector selects the other Thing.
	// +optional
	NeighbourSelector *xpv1.Selector `json:"neighbourSelector,omitempty"`

	// PasswordSecretRef selects the password.
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`

	// AccessToken must not be shown.
	// +bowline:nolint=plain-secret tests look for it where it must not be
	// +optional
	AccessToken *string `json:"accessToken,omitempty"`
}

// Scaling of a Thing.
type Scaling struct {
	// MinSize is not compared with the size.
	// +optional
	MinSize *int `json:"minSize,omitempty"`
	// MaxSize is not compared with the size.
	// +optional
	MaxSize *int `json:"maxSize,omitempty"`
	// DesiredSize is not compared with the size.
	// +optional
	DesiredSize *int `json:"desiredSize,omitempty"`
}

// Status of a Thing.
type Status struct {
	xpv1.ResourceStatus `json:",inline"`

	// +optional
	AtProvider Observation `json:"atProvider,omitempty"`
}

// AddLocalToScheme adds Thing as the namespaced kind. It is the same Go type, so a scheme holds the one or the other.
func AddLocalToScheme(s *runtime.Scheme) error {
	gv := LocalGroupVersionKind.GroupVersion()
	s.AddKnownTypes(gv, &Thing{}, &ThingList{})
	metav1.AddToGroupVersion(s, gv)
	return nil
}

// CRD of Thing.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	all, err := crd.Load(crds.FS)
	if err != nil {
		panic(err) // the generator wrote what is no definition
	}
	return all[0]
}

// LocalCRD is that of Thing in a namespace, where it names its connection secret without one (N2).
func LocalCRD() *apiextensionsv1.CustomResourceDefinition {
	d := CRD()
	d.Name = "things." + LocalGroupVersionKind.Group
	d.Spec.Group = LocalGroupVersionKind.Group
	d.Spec.Scope = apiextensionsv1.NamespaceScoped
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	ref := spec.Properties["writeConnectionSecretToRef"]
	ref.XValidations = nil
	spec.Properties["writeConnectionSecretToRef"] = ref
	return d
}
