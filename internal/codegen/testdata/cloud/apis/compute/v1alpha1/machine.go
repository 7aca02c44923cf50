// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// MachineParameters are the settings of a machine.
// https://cloud.example.org/docs/machines
type MachineParameters struct {
	// Size of the machine. It must be given.
	// +kubebuilder:validation:Enum=small;large
	// +kubebuilder:default=small
	Size string `json:"size"`

	// Image is the name of what runs on the machine, in upper or lower case. It cannot change.
	// +immutable
	// +bowline:required
	// +bowline:compare=ignoreCase
	// +optional
	Image *string `json:"image,omitempty"`

	// NetworkID is the id of the network that the machine is in. It cannot change.
	// +immutable
	// +bowline:required
	// +crossplane:generate:reference:type=github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1.Network
	// +optional
	NetworkID *string `json:"networkId,omitempty"`

	// NetworkIDRef names the Network whose id networkId becomes. It cannot change.
	// +immutable
	// +optional
	NetworkIDRef *xpv1.Reference `json:"networkIdRef,omitempty"`

	// NetworkIDSelector chooses the Network that networkIdRef becomes.
	// +optional
	NetworkIDSelector *xpv1.Selector `json:"networkIdSelector,omitempty"`

	// OwnerName is the name of the machine that this one works for.
	// +crossplane:generate:reference:type=Machine
	OwnerName string `json:"ownerName,omitempty"`

	// OwnerNameRef names the Machine whose name ownerName becomes.
	// +optional
	OwnerNameRef *xpv1.Reference `json:"ownerNameRef,omitempty"`

	// OwnerNameSelector chooses the Machine that ownerNameRef becomes.
	// +optional
	OwnerNameSelector *xpv1.Selector `json:"ownerNameSelector,omitempty"`

	// Neighbours are the names of machines that are kept apart from this one.
	// +crossplane:generate:reference:type=Machine
	// +crossplane:generate:reference:extractor=github.com/bowline-dev/bowline/pkg/reference.FieldPath("status.atProvider.name")
	// +bowline:compare=chosen
	// +listType=set
	// +optional
	Neighbours []string `json:"neighbours,omitempty"`

	// NeighbourRefs name the Machines whose names neighbours become.
	// +listType=atomic
	// +optional
	NeighbourRefs []xpv1.Reference `json:"neighbourRefs,omitempty"`

	// NeighbourSelector chooses the Machines that neighbourRefs become.
	// +optional
	NeighbourSelector *xpv1.Selector `json:"neighbourSelector,omitempty"`

	// Disks of the machine, by their names.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Disks []Disk `json:"disks,omitempty"`

	// Boot says how the machine starts.
	// +optional
	Boot *Boot `json:"boot,omitempty"`

	// Placement says where the machine runs. It cannot change.
	// +immutable
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// Spares are the places that the machine may move to. They cannot change.
	// +immutable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +optional
	Spares []Placement `json:"spares,omitempty"`

	// Policy is a document that says who may use the machine.
	// +bowline:compare=json;writeOnly
	// +optional
	Policy *string `json:"policy,omitempty"`

	// StartupDelay is how long the machine waits. The test cloud waits for 5s if it is not set.
	// +bowline:default="5s"
	// +optional
	StartupDelay *metav1.Duration `json:"startupDelay,omitempty"`

	// Tolerations that others know.
	// +bowline:compare=ignore
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// PasswordSecretRef selects the password of the machine's first user. The runtime generates a random one if it is not
	// set.
	// +bowline:generated=password
	// +bowline:compare=writeOnly
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`

	// Tags that the machine carries in the test cloud.
	// +bowline:labels
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
}

// A Disk of a machine.
type Disk struct {
	// Name of the disk, unique in the machine.
	Name string `json:"name"`

	// Type of the disk. It cannot change.
	// +immutable
	// +optional
	Type *string `json:"type,omitempty"`

	// NetworkID of the network that the disk is reached through.
	// +crossplane:generate:reference:type=github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1.Network
	// +optional
	NetworkID *string `json:"networkId,omitempty"`

	// NetworkIDRef names the Network whose id networkId becomes.
	// +optional
	NetworkIDRef *xpv1.NamespacedReference `json:"networkIdRef,omitempty"`

	// NetworkIDSelector chooses the Network that networkIdRef becomes.
	// +optional
	NetworkIDSelector *xpv1.NamespacedSelector `json:"networkIdSelector,omitempty"`
}

// Placement is a place of machines.
type Placement struct {
	// Zone of the place.
	// +optional
	Zone *string `json:"zone,omitempty"`

	// Rack in the zone.
	// +optional
	Rack *string `json:"rack,omitempty"`
}

// Boot says how a machine starts.
type Boot struct {
	// Firmware of the machine. It cannot change.
	// +immutable
	// +bowline:required
	// +optional
	Firmware *string `json:"firmware,omitempty"`

	// KernelID is the id of the machine whose kernel is used. It cannot change.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="kernelId cannot change"
	// +crossplane:generate:reference:type=Machine
	// +optional
	KernelID *string `json:"kernelId,omitempty"`

	// KernelIDRef names the Machine whose id kernelId becomes.
	// +optional
	KernelIDRef *xpv1.Reference `json:"kernelIdRef,omitempty"`

	// KernelIDSelector chooses the Machine that kernelIdRef becomes.
	// +optional
	KernelIDSelector *xpv1.Selector `json:"kernelIdSelector,omitempty"`
}

// MachineObservation is what the test cloud reports of a machine.
type MachineObservation struct {
	// Name of the machine.
	Name string `json:"name,omitempty"`
}

// A Machine is a computer of the test cloud.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=vm
// +kubebuilder:printcolumn:name="SIZE",type=string,JSONPath=`.spec.forProvider.size`
// +bowline:scopes=Cluster,Namespaced
// +bowline:holdsData
// +bowline:class=MachineClaim.claims.cloud.example.org,BuildClaim.claims.cloud.example.org
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineSpec   `json:"spec"`
	Status MachineStatus `json:"status,omitempty"`
}

// GetDeletionPolicy satisfies resource.Orphanable. It is written by hand: a machine is deleted unless its owner says so.
func (r *Machine) GetDeletionPolicy() xpv1.DeletionPolicy {
	if r.Spec.DeletionPolicy == "" {
		return xpv1.DeletionDelete
	}
	return r.Spec.DeletionPolicy
}
