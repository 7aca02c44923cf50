// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A PostgreSQLInstanceSpec is what you ask for.
type PostgreSQLInstanceSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// EngineVersion is the version of PostgreSQL that your application needs, in quotes, for example "15". Without
	// it you get the one that the class stands for. If that stands for another one, the claim says so, and nothing is
	// made. It cannot change once there is something behind the claim.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	EngineVersion *string `json:"engineVersion,omitempty"`
}

// A PostgreSQLInstance asks for a PostgreSQL database of your own. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, that holds endpoint, port, database, username and password. As long as
// it is not, the condition Ready says what it waits for. What happens to the data when you delete it is for the class to say.
//
// +kubebuilder:object:root=true
type PostgreSQLInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what you ask for. All of it may be left out.
	Spec PostgreSQLInstanceSpec `json:"spec,omitempty"`

	// Status is how far it is.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
