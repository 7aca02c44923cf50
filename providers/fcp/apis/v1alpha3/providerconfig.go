// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec configures access to the favourite cloud.
//
// +kubebuilder:validation:XValidation:fieldPath=".endpoint",rule="!has(self.endpoint) || self.endpoint.matches('^https?://[^/?#@[:space:]]+/?$')",message="endpoint must be http:// or https:// with a host, optionally a port, and nothing else: put the API key into the Secret that credentials names"
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// ProjectID is the project of the favourite cloud that holds the resources.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ProjectID string `json:"projectID"`
	// Endpoint is the URL of the favourite cloud's API: scheme, host and port.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:default="http://127.0.0.1:7070"
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// A ProviderConfig configures access to the favourite cloud: endpoint, project and API key. Managed resources refer to it by
// name; the default is the one named "default".
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:name="PROJECT",type=string,JSONPath=`.spec.projectID`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=`.spec.endpoint`
// +bowline:providerconfig
// +bowline:scopes=Cluster,Namespaced
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
