// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkParameters are the settings of a network.
// https://cloud.example.org/docs/networks
type NetworkParameters struct {
	// CIDRBlock is the range of addresses, for example 10.0.0.0/16. It cannot change.
	// +immutable
	// +bowline:required
	// +optional
	CIDRBlock *string `json:"cidrBlock,omitempty"`
}

// NetworkObservation is what the test cloud reports of a network.
type NetworkObservation struct {
	// ID of the network.
	ID string `json:"id,omitempty"`
}

// A Network is a range of addresses of the test cloud.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}
