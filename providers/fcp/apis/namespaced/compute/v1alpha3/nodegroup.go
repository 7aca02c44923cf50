// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ScalingConfig is the size of a node group.
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
	// DesiredSize is the number of machines, minSize to maxSize. The favourite cloud starts with minSize if it is not
	// set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	DesiredSize *int `json:"desiredSize,omitempty"`
}

// UpgradeSpec configures how the machines of a node group are replaced when the instance type changes.
type UpgradeSpec struct {
	// Strategy is ROLLING, a few machines at a time, or RECREATE, all at once. The favourite cloud chooses one if it is not
	// set.
	// +optional
	// +kubebuilder:validation:Enum=ROLLING;RECREATE
	Strategy *string `json:"strategy,omitempty"`
	// MaxUnavailable is the maximum number of machines that are replaced at a time, 1 to 1000. RECREATE ignores it. The
	// favourite cloud chooses a number if it is not set.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxUnavailable *int `json:"maxUnavailable,omitempty"`
}

// Repair configures the repair of broken machines.
type Repair struct {
	// Enabled lets the favourite cloud replace broken machines.
	Enabled bool `json:"enabled"`
}

// NodeGroupParameters are the settings of a node group.
// https://favourite.example.org/api/v1/node-groups#NodeGroup
type NodeGroupParameters struct {
	// SubnetIDs are the ids of the subnets that the machines are in. They cannot change. Alternatively, refer to Subnets by
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
	// SubnetIDRefs name the Subnets, in the namespace of the node group, for subnetIds. They cannot change.
	// +immutable
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SubnetIDRefs []xpv1.Reference `json:"subnetIdRefs,omitempty"`
	// SubnetIDSelector selects the Subnets for subnetIdRefs, in the namespace of the node group: all that match.
	// +optional
	SubnetIDSelector *xpv1.Selector `json:"subnetIdSelector,omitempty"`
	// ScalingConfig is the number of machines. It has one entry.
	// +bowline:required
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	ScalingConfig []ScalingConfig `json:"scalingConfig,omitempty"`
	// InstanceType of the machines, for example small. The favourite cloud chooses one if it is not set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	InstanceType *string `json:"instanceType,omitempty"`
	// Upgrade configures how the machines are replaced when the instance type changes.
	// +optional
	Upgrade *UpgradeSpec `json:"upgrade,omitempty"`
	// Repair configures the repair of broken machines. The favourite cloud replaces them if it is not set.
	// +optional
	Repair *Repair `json:"repair,omitempty"`
	// Labels that the node group carries in the favourite cloud, in addition to the ownership labels. Labels that
	// others add are kept. The label autoscale with the value "true" lets the favourite cloud change the desired size.
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
	// ScalingConfig is the number of machines.
	// +listType=atomic
	ScalingConfig []ScalingConfigObservation `json:"scalingConfig,omitempty"`
	// InstanceType of the machines.
	InstanceType string `json:"instanceType,omitempty"`
	// Upgrade is the observed state of the machines.
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`
	// CreatedAt is when the favourite cloud accepted the node group.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
}

// UpgradeStatus is what the favourite cloud reports of upgrades.
type UpgradeStatus struct {
	// LastUpgradeAt is when the machines were last replaced.
	LastUpgradeAt *metav1.Time `json:"lastUpgradeAt,omitempty"`
	// Version of the software of the machines.
	Version string `json:"version,omitempty"`
}

// A ScalingConfigObservation is the observed size of a node group.
type ScalingConfigObservation struct {
	// MinSize is the smallest number of machines.
	MinSize int `json:"minSize,omitempty"`
	// MaxSize is the largest number of machines.
	MaxSize int `json:"maxSize,omitempty"`
	// DesiredSize is the current number of machines.
	DesiredSize int `json:"desiredSize,omitempty"`
}

// A NodeGroup is a scalable group of identical machines in the favourite cloud. Its name in the cloud is the external name.
// Fields of spec.initProvider are sent at creation and not enforced afterwards: set the desired size there if the cloud's
// autoscaler shall change it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ng
// +bowline:scopes=Namespaced
type NodeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeGroupSpec   `json:"spec"`
	Status NodeGroupStatus `json:"status,omitempty"`
}
