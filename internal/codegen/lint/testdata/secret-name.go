package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Password selects the password of the thing.
	// +optional
	Password *xpv1.SecretKeySelector `json:"password,omitempty"`

	// TokenSecretRef is a token.
	// +optional
	TokenSecretRef *string `json:"tokenSecretRef,omitempty"`
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
