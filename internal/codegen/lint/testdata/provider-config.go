// Package v1 holds things.
//
// +kubebuilder:object:generate=true
// +groupName=things.example.org
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// ThingObservation is what is reported of a thing.
type ThingObservation struct {
	// ID of the thing.
	ID string `json:"id,omitempty"`
}

// A Thing is a thing.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingSpec   `json:"spec"`
	Status ThingStatus `json:"status,omitempty"`
}

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
