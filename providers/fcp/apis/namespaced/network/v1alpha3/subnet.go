// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SubnetParameters are the settings of a subnet.
// https://favourite.example.org/api/v1/subnets#Subnet
type SubnetParameters struct {
	// NetworkID is the id of the network that the subnet is a part of. It cannot change. Alternatively, refer to a
	// Network by networkIdRef or networkIdSelector.
	// +bowline:required
	// +crossplane:generate:reference:type=Network
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	NetworkID *string `json:"networkId,omitempty"`
	// NetworkIDRef names the Network, in the namespace of the subnet, for networkId. It cannot change.
	// +immutable
	// +optional
	NetworkIDRef *xpv1.Reference `json:"networkIdRef,omitempty"`
	// NetworkIDSelector selects the Network for networkIdRef, in the namespace of the subnet.
	// +optional
	NetworkIDSelector *xpv1.Selector `json:"networkIdSelector,omitempty"`
	// CIDRBlock is the range of addresses of the subnet without host bits, inside that of the network, for example
	// 10.0.1.0/24. It cannot change.
	// +bowline:required
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
	// Labels that the subnet carries in the favourite cloud, in addition to the ownership labels. Labels
	// that others add are kept.
	// +bowline:labels
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// SubnetObservation is what the favourite cloud reports of a subnet.
type SubnetObservation struct {
	// ID that the favourite cloud assigned to the subnet.
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

// A Subnet is a part of a Network's range of addresses, in one zone of the favourite cloud, which assigns its id, the
// external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fsubnet
// +bowline:scopes=Namespaced
type Subnet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SubnetSpec   `json:"spec"`
	Status SubnetStatus `json:"status,omitempty"`
}
