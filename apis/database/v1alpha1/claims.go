// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A MySQLInstanceSpec is the desired state of a claim.
type MySQLInstanceSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// EngineVersion is the version of MySQL that your application needs, in quotes, for example "8.4". Default:
	// that of the class. If the class sets another version, the claim is refused with a message in its conditions. It cannot
	// change once the claim is bound.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	EngineVersion *string `json:"engineVersion,omitempty"`
}

// A MySQLInstance asks for a MySQL database of your own. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, the Secret has endpoint, port, username and password. Until then
// condition Ready shows the reason. The class decides whether deleting the claim deletes the data.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mysql
type MySQLInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. All fields are optional.
	Spec MySQLInstanceSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// A FancySQLInstanceSpec is the desired state of a claim.
type FancySQLInstanceSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Version is the version of FancySQL that your application needs, in quotes, for example "2.3". Default:
	// that of the class. If the class sets another version, the claim is refused with a message in its conditions. It cannot
	// change once the claim is bound.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([-._0-9A-Za-z]*[0-9A-Za-z])?$`
	Version *string `json:"version,omitempty"`
}

// A FancySQLInstance asks for a FancySQL database of your own: the kind of the guides' examples. Create it in your
// namespace, and name a Secret in writeConnectionSecretToRef: when the claim is ready, the Secret has endpoint, port, username
// and password. Until then condition Ready shows the reason. The class decides whether deleting
// the claim deletes the data.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fancysql
type FancySQLInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. All fields are optional.
	Spec FancySQLInstanceSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// SetBindingPhase sets how far the claim is (K36). It is written out as the guides print it.
func (i *FancySQLInstance) SetBindingPhase(p xpv1.BindingPhase) { i.Status.SetBindingPhase(p) }

// A PostgreSQLInstanceSpec is the desired state of a claim.
type PostgreSQLInstanceSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// EngineVersion is the version of PostgreSQL that your application needs, in quotes, for example "15". Default:
	// that of the class. If the class sets another version, the claim is refused with a message in its conditions. It cannot
	// change once the claim is bound.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	EngineVersion *string `json:"engineVersion,omitempty"`
}

// A PostgreSQLInstance asks for a PostgreSQL database of your own. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, the Secret has endpoint, port, database, username and password. Until
// then condition Ready shows the reason. The class decides whether deleting the claim deletes the data.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pg
type PostgreSQLInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. All fields are optional.
	Spec PostgreSQLInstanceSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
