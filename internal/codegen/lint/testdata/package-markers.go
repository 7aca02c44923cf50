// Package v1 holds things.
//
// +kubebuilder:object:generate=true
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec says how to reach things.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`
}

// A ProviderConfig says how to reach things.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
