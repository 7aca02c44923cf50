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
// +bowline:class=ThingClaim.things.example.org, OtherClaim.example.org
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingSpec   `json:"spec"`
	Status ThingStatus `json:"status,omitempty"`
}

// ToolParameters are the settings of a tool.
// https://example.org/things
type ToolParameters struct {
	// Size of the tool.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// ToolObservation is what is reported of a tool.
type ToolObservation struct {
	// ID of the tool.
	ID string `json:"id,omitempty"`
}

// A Tool is a tool.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type Tool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ToolSpec   `json:"spec"`
	Status ToolStatus `json:"status,omitempty"`
}

// A ToolClassSpecTemplate says what is made.
type ToolClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider ToolParameters `json:"forProvider"`
}

// A ToolClass is a template.
//
// +kubebuilder:object:root=true
// +bowline:claims=ThingClaim.example.org
type ToolClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate ToolClassSpecTemplate `json:"specTemplate,omitempty"`
	Status       xpv1.ClassStatus      `json:"status,omitzero"`
}

// A ThingClaimSpec is what is asked for.
type ThingClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Size that is asked for. Default: that of the class.
	// +optional
	Size *int64 `json:"size,omitempty"`
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
