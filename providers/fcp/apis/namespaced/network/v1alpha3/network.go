// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// A NetworkSpec is the desired state of a network.
//
// +kubebuilder:validation:XValidation:rule="!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || has(self.forProvider.cidrBlock)",message="spec.forProvider.cidrBlock is required, unless managementPolicies exclude Create and Update"
type NetworkSpec struct {
	xpv1.NamespacedResourceSpec `json:",inline"`

	// ForProvider are the settings that the network is kept at.
	ForProvider networkv1alpha3.NetworkParameters `json:"forProvider"`
}

// A NetworkStatus is the observed state of a network.
type NetworkStatus struct {
	xpv1.ResourceStatus `json:",inline"`

	// AtProvider is what the favourite cloud last reported.
	AtProvider networkv1alpha3.NetworkObservation `json:"atProvider,omitempty"`
}

// A Network is a private range of addresses in the favourite cloud, which makes up its id: the external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,fcp}
// +kubebuilder:metadata:labels="bowline.dev/provider-config=fcp.m.crossplane.io"
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
