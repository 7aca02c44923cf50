package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
	Size *int64 `json:"size"`

	// Zone of the thing.
	Zone string `json:"zone,omitempty"`

	// OtherID of another thing.
	// +crossplane:generate:reference:type=Thing
	OtherID string `json:"otherId"`

	// OtherIDRef names the Thing.
	// +optional
	OtherIDRef *xpv1.Reference `json:"otherIdRef,omitempty"`

	// OtherIDSelector chooses the Thing.
	// +optional
	OtherIDSelector *xpv1.Selector `json:"otherIdSelector,omitempty"`
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
