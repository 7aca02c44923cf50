package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ThingClaimSpec is what is asked for.
type ThingClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`
}

// A ThingClaim asks for a thing.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type ThingClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingClaimSpec           `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// A PartClaimSpec is what is asked for.
type PartClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`
}

// A PartClaim asks for a thing.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type PartClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PartClaimSpec            `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// A ToolClaimSpec is what is asked for.
type ToolClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`
}

// A ToolClaim asks for a thing.
//
// +kubebuilder:object:root=true
type ToolClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ToolClaimSpec            `json:"spec"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// A WheelClaimSpec is what is asked for.
type WheelClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`
}

// A WheelClaim asks for a thing.
//
// +kubebuilder:object:root=true
type WheelClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WheelClaimSpec   `json:"spec,omitempty"`
	Status WheelClaimStatus `json:"status,omitempty"`
}

// A WheelClaimStatus is the status of a claim.
type WheelClaimStatus struct {
	xpv1.ResourceClaimStatus `json:",inline"`
}
