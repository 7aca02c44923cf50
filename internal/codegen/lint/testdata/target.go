package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ThingTargetSpec is what is wanted.
type ThingTargetSpec struct {
	xpv1.TargetSpec `json:",inline"`
}

// A ThingTarget wants to connect to a thing.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type ThingTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingTargetSpec   `json:"spec"`
	Status xpv1.TargetStatus `json:"status,omitempty"`
}

// A PartTargetSpec is what is wanted.
type PartTargetSpec struct {
	xpv1.TargetSpec `json:",inline"`
}

// A PartTarget wants to connect to a part.
//
// +kubebuilder:object:root=true
type PartTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PartTargetSpec    `json:"spec,omitempty"`
	Status xpv1.TargetStatus `json:"status,omitempty"`
}

// A WheelTargetSpec is what is wanted.
type WheelTargetSpec struct {
	xpv1.TargetSpec `json:",inline"`
}

// A WheelTarget wants to connect to a wheel.
//
// +kubebuilder:object:root=true
type WheelTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WheelTargetSpec   `json:"spec"`
	Status WheelTargetStatus `json:"status,omitempty"`
}

// A WheelTargetStatus is the status of a target.
type WheelTargetStatus struct {
	xpv1.TargetStatus `json:",inline"`
}
