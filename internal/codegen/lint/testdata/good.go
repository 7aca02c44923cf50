package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
	// +bowline:nolint=optional no thing is of size 0
	// +optional
	Size int64 `json:"size,omitempty"`

	// Weight of the thing. Things weigh 3 if it is not set.
	// +bowline:default=3
	// +optional
	Weight *int64 `json:"weight,omitempty"`

	// Delay of the thing. Things wait for 5s if it is not set.
	// +bowline:default="5s"
	// +optional
	Delay *metav1.Duration `json:"delay,omitempty"`

	// OtherID of another thing.
	// +immutable
	// +bowline:required
	// +crossplane:generate:reference:type=Thing
	// +optional
	OtherID *string `json:"otherId,omitempty"`

	// OtherIDRef names the Thing.
	// +immutable
	// +optional
	OtherIDRef *xpv1.Reference `json:"otherIdRef,omitempty"`

	// OtherIDSelector chooses the Thing.
	// +optional
	OtherIDSelector *xpv1.Selector `json:"otherIdSelector,omitempty"`

	// Parts of the thing.
	// +listType=map
	// +listMapKey=name
	// +optional
	Parts []Part `json:"parts,omitempty"`

	// PasswordSecretRef selects the password of the thing. A random one is generated if it is not set.
	// +bowline:generated=password
	// +bowline:compare=writeOnly
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`

	// LicenseSecretRef selects the licence of the thing. There is none if it is not set.
	// +optional
	LicenseSecretRef *xpv1.SecretKeySelector `json:"licenseSecretRef,omitempty"`

	// TokenSecretRef selects the token of the thing. The external system makes a random one if it is not set.
	// +optional
	TokenSecretRef *xpv1.SecretKeySelector `json:"tokenSecretRef,omitempty"`
}

// A Part of a thing.
type Part struct {
	// Name of the part.
	Name string `json:"name"`

	// Colour of the part.
	// +immutable
	// +optional
	Colour *string `json:"colour,omitempty"`
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
