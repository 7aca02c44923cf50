package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Parts of the thing.
	// +listType=map
	// +listMapKey=name
	// +optional
	Parts []Part `json:"parts,omitempty"`

	// Limits of the thing.
	// +optional
	Limits map[string]Limit `json:"limits,omitempty"`
}

// A Part of a thing.
type Part struct {
	// Name of the part.
	Name string `json:"name"`

	// PasswordSecretRef selects the password of the part. A random one is generated if it is not set.
	// +bowline:generated=password
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`
}

// A Limit of a thing.
type Limit struct {
	// Name of the limit.
	Name string `json:"name"`

	// Size of the limit. The vendor takes 3 if it is not set.
	// +bowline:default=3
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
