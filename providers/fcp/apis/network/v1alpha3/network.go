// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkParameters are the settings of a network.
// https://favourite.example.org/api/v1/networks#Network
type NetworkParameters struct {
	// CIDRBlock is the range of addresses of the network without host bits, for example 10.0.0.0/16. It cannot change.
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	CIDRBlock *string `json:"cidrBlock,omitempty"`
	// Description of the network, free text.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description *string `json:"description,omitempty"`
	// DNSServers are the IP addresses of name servers, in the order of queries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=45
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU is the size of the largest packet in bytes, 576 to 9216. The favourite cloud chooses one if it is not set.
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9216
	MTU *int `json:"mtu,omitempty"`
	// Labels that the network carries in the favourite cloud, in addition to the ownership labels. Labels
	// that others add are kept.
	// +bowline:labels
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// NetworkObservation is what the favourite cloud reports of a network.
type NetworkObservation struct {
	// ID that the favourite cloud assigned to the network.
	ID string `json:"id,omitempty"`
	// Status of the network: CREATING, AVAILABLE or DELETING.
	Status string `json:"status,omitempty"`
	// CIDRBlock that the network has.
	CIDRBlock string `json:"cidrBlock,omitempty"`
	// Description that the network has.
	Description string `json:"description,omitempty"`
	// DNSServers that the network has.
	// +listType=atomic
	DNSServers []string `json:"dnsServers,omitempty"`
	// MTU that the network has, in bytes.
	MTU int `json:"mtu,omitempty"`
	// CreatedAt is when the favourite cloud accepted the network.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
}

// A Network is a private range of addresses in the favourite cloud, which assigns its id, the external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fnet
// +bowline:scopes=Cluster,Namespaced
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}
