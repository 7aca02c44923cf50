// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

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
