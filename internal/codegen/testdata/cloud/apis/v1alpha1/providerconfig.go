// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec says how to reach the test cloud.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// Project that holds the resources.
	// +kubebuilder:validation:MinLength=1
	Project string `json:"project"`
}

// A ProviderConfig says how to reach the test cloud: which project, and with which API key.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:name="PROJECT",type=string,JSONPath=`.spec.project`
// +bowline:providerconfig
// +bowline:scopes=Cluster,Namespaced
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
