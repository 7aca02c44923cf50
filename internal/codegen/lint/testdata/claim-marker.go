package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ThingClaimSpec is what is asked for.
type ThingClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Size of the thing.
	// +bowline:required
	// +immutable
	// +optional
	Size *int64 `json:"size,omitempty"`

	// Place of the thing.
	// +optional
	Place *Place `json:"place,omitempty"`

	// Parts of the thing.
	// +immutable
	// +optional
	Parts []Part `json:"parts,omitempty"`
}

// A Place of a thing.
type Place struct {
	// Zone of the thing.
	// +bowline:compare=ignoreCase
	Zone string `json:"zone"`

	// Floor of the thing.
	// +bowline:default=1
	// +immutable
	// +optional
	Floor *int64 `json:"floor,omitempty"`

	// NetworkID of the thing.
	// +crossplane:generate:reference:type=Network
	// +optional
	NetworkID *string `json:"networkId,omitempty"`
}

// A Part of a thing.
type Part struct {
	// Name of the part.
	// +immutable
	Name string `json:"name"`
}

// A ThingClaim asks for a thing.
//
// +kubebuilder:object:root=true
type ThingClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingClaimSpec           `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
