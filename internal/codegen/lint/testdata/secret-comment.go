package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// PasswordSecretRef selects the password of the thing.
	// +bowline:generated=password
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`

	// TokenSecretRef selects the token of the thing. A random one is generated if it is not set.
	// +optional
	TokenSecretRef *xpv1.SecretKeySelector `json:"tokenSecretRef,omitempty"`
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
