// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// GatewayParameters are the settings of a gateway.
// https://cloud.example.org/docs/gateways
type GatewayParameters struct {
	// NetworkID is the id of the network that the gateway leads to.
	// +crossplane:generate:reference:type=Network
	// +optional
	NetworkID *string `json:"networkId,omitempty"`

	// NetworkIDRef names the Network whose id networkId becomes.
	// +optional
	NetworkIDRef *xpv1.Reference `json:"networkIdRef,omitempty"`

	// NetworkIDSelector chooses the Network that networkIdRef becomes.
	// +optional
	NetworkIDSelector *xpv1.Selector `json:"networkIdSelector,omitempty"`
}

// GatewayObservation is what the test cloud reports of a gateway.
type GatewayObservation struct {
	// ID of the gateway.
	ID string `json:"id,omitempty"`
}

// A GatewaySpec is the desired state of a gateway. It is written by hand, since its init parameters are its settings.
type GatewaySpec struct {
	xpv1.ResourceSpec `json:",inline"`

	// ForProvider are the settings that the gateway is kept at.
	ForProvider GatewayParameters `json:"forProvider"`

	// InitProvider are settings that the gateway is created with.
	// +optional
	InitProvider *GatewayParameters `json:"initProvider,omitempty"`
}

// A Gateway leads out of a network.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Gateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GatewaySpec   `json:"spec"`
	Status GatewayStatus `json:"status,omitempty"`
}
