// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// NetworkParameters are the settings of a network.
// https://favourite.example.org/api/v1/networks#Network
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cidrBlock) || (has(self.cidrBlock) && self.cidrBlock == oldSelf.cidrBlock)",message="cidrBlock is immutable: create another network instead",fieldPath=".cidrBlock"
type NetworkParameters struct {
	// CIDRBlock is the range of addresses of the network without host bits, for example 10.0.0.0/16. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	CIDRBlock *string `json:"cidrBlock,omitempty"`

	// Description is for people.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description *string `json:"description,omitempty"`

	// DNSServers are the IP addresses of name servers, in the order in which they are asked.
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

	// Labels that the network carries in the favourite cloud, beside those that say whose it is. Labels that others put
	// there stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// NetworkObservation is what the favourite cloud reports of a network.
type NetworkObservation struct {
	// ID that the favourite cloud gave the network.
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

// A NetworkSpec is the desired state of a network.
//
// +kubebuilder:validation:XValidation:rule="!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || has(self.forProvider.cidrBlock)",message="spec.forProvider.cidrBlock is required, unless managementPolicies exclude Create and Update"
type NetworkSpec struct {
	xpv1.ResourceSpec `json:",inline"`

	// ForProvider are the settings that the network is kept at.
	ForProvider NetworkParameters `json:"forProvider"`
}

// A NetworkStatus is the observed state of a network.
type NetworkStatus struct {
	xpv1.ResourceStatus `json:",inline"`

	// AtProvider is what the favourite cloud last reported.
	AtProvider NetworkObservation `json:"atProvider,omitempty"`
}

// A Network is a private range of addresses in the favourite cloud, which makes up its id: the external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,managed,fcp}
// +kubebuilder:metadata:labels="bowline.dev/provider-config=fcp.crossplane.io"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type=string,JSONPath=`.metadata.annotations.crossplane\.io/external-name`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}

// NetworkList contains a list of Network.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Network `json:"items"`
}
