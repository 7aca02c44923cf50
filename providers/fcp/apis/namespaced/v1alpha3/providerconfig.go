// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	fcpv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// A ClusterProviderConfig says how the namespaced kinds of all namespaces may reach the favourite cloud: where it is,
// which project, and with which API key. Objects that name no configuration use the one called "default".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={crossplane,provider,fcp}
// +kubebuilder:printcolumn:name="PROJECT",type=string,JSONPath=`.spec.projectID`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="USERS",type=integer,JSONPath=`.status.users`
// +kubebuilder:printcolumn:name="SECRET",type=string,priority=1,JSONPath=`.spec.credentials.secretRef.name`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   fcpv1alpha3.ProviderConfigSpec `json:"spec"`
	Status xpv1.ProviderConfigStatus      `json:"status,omitempty"`
}

// ClusterProviderConfigList contains a list of ClusterProviderConfig.
//
// +kubebuilder:object:root=true
type ClusterProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterProviderConfig `json:"items"`
}

// A ProviderConfig says how the objects of its own namespace that name it reach the favourite cloud: where it is, which
// project, and with which API key, whose Secret must be in that namespace too.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={crossplane,provider,fcp}
// +kubebuilder:printcolumn:name="PROJECT",type=string,JSONPath=`.spec.projectID`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="USERS",type=integer,JSONPath=`.status.users`
// +kubebuilder:printcolumn:name="SECRET",type=string,priority=1,JSONPath=`.spec.credentials.secretRef.name`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   fcpv1alpha3.ProviderConfigSpec `json:"spec"`
	Status xpv1.ProviderConfigStatus      `json:"status,omitempty"`
}

// ProviderConfigList contains a list of ProviderConfig.
//
// +kubebuilder:object:root=true
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProviderConfig `json:"items"`
}
