// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

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

// An OtherClaimSpec is what is asked of the shop.
type OtherClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Size that is asked for. Default: that of the class.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// An OtherClaim asks for an Item too, and has classes in common with ItemClaim.
//
// +kubebuilder:object:root=true
type OtherClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OtherClaimSpec           `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
