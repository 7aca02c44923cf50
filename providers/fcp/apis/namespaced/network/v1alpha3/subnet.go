// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SubnetParameters are the settings of a subnet.
// https://favourite.example.org/api/v1/subnets#Subnet
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networkId) || (has(self.networkId) && self.networkId == oldSelf.networkId)",message="networkId is immutable: create another subnet instead",fieldPath=".networkId"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.networkIdRef) || (has(self.networkIdRef) && self.networkIdRef == oldSelf.networkIdRef)",message="networkIdRef is immutable: create another subnet instead",fieldPath=".networkIdRef"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cidrBlock) || (has(self.cidrBlock) && self.cidrBlock == oldSelf.cidrBlock)",message="cidrBlock is immutable: create another subnet instead",fieldPath=".cidrBlock"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.zone) || (has(self.zone) && self.zone == oldSelf.zone)",message="zone is immutable: create another subnet instead",fieldPath=".zone"
// +kubebuilder:validation:XValidation:rule="self.?networkIdRef.?policy.?resolve.orValue('IfNotPresent') != 'Always'",message="what it resolves to is immutable: policy.resolve must not be Always",fieldPath=".networkIdRef"
// +kubebuilder:validation:XValidation:rule="self.?networkIdSelector.?policy.?resolve.orValue('IfNotPresent') != 'Always'",message="what it resolves to is immutable: policy.resolve must not be Always",fieldPath=".networkIdSelector"
type SubnetParameters struct {
	// NetworkID is the id of the network that the subnet is a part of. It cannot change. Give it, or refer to a Network
	// by networkIdRef or networkIdSelector.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	NetworkID *string `json:"networkId,omitempty"`

	// NetworkIDRef names the Network, in the namespace of the subnet, whose id networkId becomes. It cannot change.
	// +immutable
	// +optional
	NetworkIDRef *xpv1.Reference `json:"networkIdRef,omitempty"`

	// NetworkIDSelector chooses the Network, in the namespace of the subnet, that networkIdRef becomes.
	// +optional
	NetworkIDSelector *xpv1.Selector `json:"networkIdSelector,omitempty"`

	// CIDRBlock is the range of addresses of the subnet without host bits, inside that of the network, for example
	// 10.0.1.0/24. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	CIDRBlock *string `json:"cidrBlock,omitempty"`

	// Zone of the favourite cloud that the subnet is in: zone-a, zone-b or zone-c. The favourite cloud chooses one if it
	// is not set. It cannot change once it is set.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Zone *string `json:"zone,omitempty"`

	// Labels that the subnet carries in the favourite cloud, beside those that say whose it is. Labels that others put
	// there stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// SubnetObservation is what the favourite cloud reports of a subnet.
type SubnetObservation struct {
	// ID that the favourite cloud gave the subnet.
	ID string `json:"id,omitempty"`

	// Status of the subnet: CREATING, AVAILABLE or DELETING.
	Status string `json:"status,omitempty"`

	// NetworkID of the network that the subnet is a part of.
	NetworkID string `json:"networkId,omitempty"`

	// CIDRBlock that the subnet has.
	CIDRBlock string `json:"cidrBlock,omitempty"`

	// Zone that the subnet is in.
	Zone string `json:"zone,omitempty"`

	// CreatedAt is when the favourite cloud accepted the subnet.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
}

// A SubnetSpec is the desired state of a subnet.
//
// +kubebuilder:validation:XValidation:rule="!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || has(self.forProvider.networkId) || has(self.forProvider.networkIdRef) || has(self.forProvider.networkIdSelector)",message="one of spec.forProvider.networkId, networkIdRef or networkIdSelector is required, unless managementPolicies exclude Create and Update"
// +kubebuilder:validation:XValidation:rule="!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || has(self.forProvider.cidrBlock)",message="spec.forProvider.cidrBlock is required, unless managementPolicies exclude Create and Update"
type SubnetSpec struct {
	xpv1.NamespacedResourceSpec `json:",inline"`

	// ForProvider are the settings that the subnet is kept at.
	ForProvider SubnetParameters `json:"forProvider"`
}

// A SubnetStatus is the observed state of a subnet.
type SubnetStatus struct {
	xpv1.ResourceStatus `json:",inline"`

	// AtProvider is what the favourite cloud last reported.
	AtProvider SubnetObservation `json:"atProvider,omitempty"`
}

// A Subnet is a part of a Network's range of addresses, in one zone of the favourite cloud, which makes up its id: the
// external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,managed,fcp}
// +kubebuilder:metadata:labels="bowline.dev/provider-config=fcp.m.crossplane.io"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="SYNCED",type=string,JSONPath=`.status.conditions[?(@.type=='Synced')].status`
// +kubebuilder:printcolumn:name="EXTERNAL-NAME",type=string,JSONPath=`.metadata.annotations.crossplane\.io/external-name`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Subnet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SubnetSpec   `json:"spec"`
	Status SubnetStatus `json:"status,omitempty"`
}

// SubnetList contains a list of Subnet.
//
// +kubebuilder:object:root=true
type SubnetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Subnet `json:"items"`
}
