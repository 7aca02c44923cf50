// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ScalingConfig says how many machines a node group has.
type ScalingConfig struct {
	// MinSize is the smallest number of machines, 0 to 1000.
	// +bowline:required
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinSize *int `json:"minSize,omitempty"`

	// MaxSize is the largest number of machines, 1 to 1000.
	// +bowline:required
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSize *int `json:"maxSize,omitempty"`

	// DesiredSize is the number of machines, minSize to maxSize. The favourite cloud begins with minSize if it is not
	// set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	DesiredSize *int `json:"desiredSize,omitempty"`
}

// UpgradeSpec says how all machines of a node group give way to others, which they do when the instance type changes.
type UpgradeSpec struct {
	// Strategy is ROLLING, a few machines at a time, or RECREATE, all at once. The favourite cloud chooses one if it is not
	// set.
	// +optional
	// +kubebuilder:validation:Enum=ROLLING;RECREATE
	Strategy *string `json:"strategy,omitempty"`

	// MaxUnavailable is how many machines may be away at a time, 1 to 1000. RECREATE does not look at it. The favourite
	// cloud chooses a number if it is not set.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxUnavailable *int `json:"maxUnavailable,omitempty"`
}

// Repair says what becomes of broken machines.
type Repair struct {
	// Enabled tells whether the favourite cloud replaces broken machines. It is required: without it, repair would say
	// nothing.
	Enabled bool `json:"enabled"`
}

// NodeGroupParameters are the settings of a node group.
// https://favourite.example.org/api/v1/node-groups#NodeGroup
type NodeGroupParameters struct {
	// SubnetIDs are the ids of the subnets that the machines are in. They cannot change. Give them, or refer to Subnets by
	// subnetIdRefs or subnetIdSelector.
	// +bowline:compare=set
	// +bowline:required
	// +crossplane:generate:reference:type=github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3.Subnet
	// +immutable
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	SubnetIDs []string `json:"subnetIds,omitempty"`

	// SubnetIDRefs name the Subnets, in the namespace of the node group, whose ids subnetIds become. They cannot change.
	// +immutable
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SubnetIDRefs []xpv1.Reference `json:"subnetIdRefs,omitempty"`

	// SubnetIDSelector chooses the Subnets, in the namespace of the node group, that subnetIdRefs become: all that match.
	// +optional
	SubnetIDSelector *xpv1.Selector `json:"subnetIdSelector,omitempty"`

	// ScalingConfig says how many machines there are. It has one entry.
	// +bowline:required
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	ScalingConfig []ScalingConfig `json:"scalingConfig,omitempty"`

	// InstanceType is the sort of the machines, for example small. The favourite cloud chooses one if it is not set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	InstanceType *string `json:"instanceType,omitempty"`

	// Upgrade says how all machines give way to others, which they do when the instance type changes.
	// +optional
	Upgrade *UpgradeSpec `json:"upgrade,omitempty"`

	// Repair says what becomes of broken machines. The favourite cloud replaces them if it is not set.
	// +optional
	Repair *Repair `json:"repair,omitempty"`

	// Labels that the node group carries in the favourite cloud, beside those that say whose it is. Labels that others
	// put there stay. The label autoscale with the value "true" lets the favourite cloud change the desired size.
	// +bowline:labels
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// NodeGroupObservation is what the favourite cloud reports of a node group.
type NodeGroupObservation struct {
	// Name of the node group in the favourite cloud.
	Name string `json:"name,omitempty"`

	// Status of the node group: CREATING, AVAILABLE or DELETING.
	Status string `json:"status,omitempty"`

	// SubnetIDs of the subnets that the machines are in.
	// +listType=atomic
	SubnetIDs []string `json:"subnetIds,omitempty"`

	// ScalingConfig says how many machines there are.
	// +listType=atomic
	ScalingConfig []ScalingConfigObservation `json:"scalingConfig,omitempty"`

	// InstanceType is the sort of the machines.
	InstanceType string `json:"instanceType,omitempty"`

	// Upgrade is what the favourite cloud says of the present machines.
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`

	// CreatedAt is when the favourite cloud accepted the node group.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
}

// UpgradeStatus is what the favourite cloud reports of upgrades.
type UpgradeStatus struct {
	// LastUpgradeAt is when the machines last gave way to others, if they ever did.
	LastUpgradeAt *metav1.Time `json:"lastUpgradeAt,omitempty"`

	// Version of the software of the machines.
	Version string `json:"version,omitempty"`
}

// ScalingConfigObservation is how many machines the favourite cloud reports.
type ScalingConfigObservation struct {
	// MinSize is the smallest number of machines.
	MinSize int `json:"minSize,omitempty"`

	// MaxSize is the largest number of machines.
	MaxSize int `json:"maxSize,omitempty"`

	// DesiredSize is the present number of machines.
	DesiredSize int `json:"desiredSize,omitempty"`
}

// A NodeGroup is a group of like machines in the favourite cloud that grows and shrinks. Its name in the cloud is the
// external name. What spec.initProvider sets is sent when the group is created and left to the cloud from then on: give
// the desired size there if the cloud's autoscaler is to change it.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Namespaced
type NodeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeGroupSpec   `json:"spec"`
	Status NodeGroupStatus `json:"status,omitempty"`
}
