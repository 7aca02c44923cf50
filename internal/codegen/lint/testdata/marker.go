package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
	// +bowline:requierd
	// +bowline:default=big
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Weight of the thing.
	// +bowline:default="3"
	// +optional
	Weight *int64 `json:"weight,omitempty"`

	// Height of the thing.
	// +bowline:default=3.5
	// +optional
	Height *int64 `json:"height,omitempty"`

	// Fast says whether the thing moves.
	// +bowline:default=null
	// +optional
	Fast *bool `json:"fast,omitempty"`

	// Names of the thing.
	// +bowline:default="a"
	// +optional
	Names []string `json:"names,omitempty"`

	// Zones of the thing.
	// +bowline:compare=set;json;sorted
	// +bowline:labels
	// +optional
	Zones []string `json:"zones,omitempty"`

	// Zone of the thing.
	// +bowline:generated=zone
	// +bowline:compare=set
	// +optional
	Zone *string `json:"zone,omitempty"`
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
// +bowline:class=ThingClaim
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingSpec   `json:"spec"`
	Status ThingStatus `json:"status,omitempty"`
}
