package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
	// +optional
	Size *int64 `json:"thing_size,omitempty"`

	// DNSName of the thing.
	// +optional
	DNSName *string

	// On tells what the thing is on.
	// +optional
	On *string `json:"on,omitempty"`
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
