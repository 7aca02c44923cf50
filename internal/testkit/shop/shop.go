// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shop has kinds for tests of the controllers of claims and classes, as authors write them and the generator
// completes them: managed kinds Item and Gadget, their classes ItemClass, for both claim kinds, and GadgetClass, for one, and
// the claim kinds ItemClaim and OtherClaim.
//
//	func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }
//
// +kubebuilder:object:generate=true
// +groupName=shop.test.bowline.dev
// +versionName=v1
// +bowline:system=the shop
package shop

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

//go:generate go run github.com/bowline-dev/bowline/internal/codegen/cmd .

// ItemParameters are the settings of an item.
// https://shop.example.org/items
type ItemParameters struct {
	// Size of the item.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Colour of the item. It cannot change.
	// +immutable
	// +optional
	Colour *string `json:"colour,omitempty"`
}

// ItemObservation is what the shop reports of an item.
type ItemObservation struct {
	// Size that the item has.
	Size int64 `json:"size,omitempty"`

	// Shelf that the item is on.
	Shelf string `json:"shelf,omitempty"`
}

// An Item is a managed resource that the shop sells.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
// +bowline:class=ItemClaim.shop.test.bowline.dev,OtherClaim.shop.test.bowline.dev
type Item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ItemSpec   `json:"spec"`
	Status ItemStatus `json:"status,omitempty"`
}

// GadgetParameters are the settings of a gadget.
// https://shop.example.org/gadgets
type GadgetParameters struct {
	// Size of the gadget.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// GadgetObservation is what the shop reports of a gadget.
type GadgetObservation struct {
	// Shelf that the gadget is on.
	Shelf string `json:"shelf,omitempty"`
}

// A Gadget is a managed resource that satisfies the same claims as an Item.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
// +bowline:class=ItemClaim.shop.test.bowline.dev
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GadgetSpec   `json:"spec"`
	Status GadgetStatus `json:"status,omitempty"`
}

// A ProviderConfigSpec is the access to the shop.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// Endpoint is the URL of the shop.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// A ProviderConfig is the access to the shop.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}

// An ItemClaimSpec is what is asked of the shop.
type ItemClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Size that is asked for. Default: that of the class.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// An ItemClaim asks for an Item or a Gadget.
//
// +kubebuilder:object:root=true
type ItemClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ItemClaimSpec            `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// An OtherClaim asks for an Item too, and has classes in common with ItemClaim.
//
// +kubebuilder:object:root=true
type OtherClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ItemClaimSpec            `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// CRDs returns the definitions of the kinds.
func CRDs() []*apiextensionsv1.CustomResourceDefinition {
	all, err := crd.Load(crds.FS)
	if err != nil {
		panic(err) // the generator wrote what is no definition
	}
	return all
}
