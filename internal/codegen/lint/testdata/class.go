package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// Size of the thing.
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
// +bowline:scopes=Namespaced
// +bowline:nolint=provider-config that is in another package
// +bowline:class=ThingClaim.example.org
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingSpec   `json:"spec"`
	Status ThingStatus `json:"status,omitempty"`
}

// PartParameters are the settings of a part.
// https://example.org/things
type PartParameters struct {
	// Size of the part.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// PartObservation is what is reported of a part.
type PartObservation struct {
	// ID of the part.
	ID string `json:"id,omitempty"`
}

// A Part is a part.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Namespaced
// +bowline:nolint=provider-config that is in another package
type Part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PartSpec   `json:"spec"`
	Status PartStatus `json:"status,omitempty"`
}

// A PartClassSpecTemplate says what is made.
type PartClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider PartParameters `json:"forProvider"`
}

// A PartClass is a template.
//
// +kubebuilder:object:root=true
// +bowline:claims=ThingClaim.example.org
type PartClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate PartClassSpecTemplate `json:"specTemplate,omitempty"`
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

	Status xpv1.ResourceStatus `json:"status,omitempty"`
}

// WheelParameters are the settings of a wheel.
// https://example.org/things
type WheelParameters struct {
	// Size of the wheel.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// WheelObservation is what is reported of a wheel.
type WheelObservation struct {
	// ID of the wheel.
	ID string `json:"id,omitempty"`
}

// A Wheel is a wheel.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type Wheel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WheelSpec   `json:"spec"`
	Status WheelStatus `json:"status,omitempty"`
}

// A WheelClassSpecTemplate says what is made.
type WheelClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider WheelParameters `json:"forProvider"`
}

// A WheelClass is a template.
//
// +kubebuilder:object:root=true
type WheelClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate WheelClassSpecTemplate `json:"specTemplate,omitempty"`
}

// BoltParameters are the settings of a bolt.
// https://example.org/things
type BoltParameters struct {
	// Size of the bolt.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// BoltObservation is what is reported of a bolt.
type BoltObservation struct {
	// ID of the bolt.
	ID string `json:"id,omitempty"`
}

// A Bolt is a bolt.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type Bolt struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoltSpec   `json:"spec"`
	Status BoltStatus `json:"status,omitempty"`
}

// A BoltClassSpecTemplate says what is made.
type BoltClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider WheelParameters `json:"forProvider"`
}

// A BoltClass is a template.
//
// +kubebuilder:object:root=true
// +bowline:claims=ThingClaim.example.org
type BoltClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate BoltClassSpecTemplate `json:"specTemplate,omitempty"`
}

// NutParameters are the settings of a nut.
// https://example.org/things
type NutParameters struct {
	// Size of the nut.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// NutObservation is what is reported of a nut.
type NutObservation struct {
	// ID of the nut.
	ID string `json:"id,omitempty"`
}

// A Nut is a nut.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type Nut struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NutSpec   `json:"spec"`
	Status NutStatus `json:"status,omitempty"`
}

// A NutClassSpecTemplate says what is made.
type NutClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider NutParameters `json:"forProvider"`
}

// A NutClass is a template.
//
// +kubebuilder:object:root=true
// +bowline:claims=ThingClaim.example.org
// +kubebuilder:resource:scope=Namespaced
type NutClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate NutClassSpecTemplate `json:"specTemplate,omitempty"`
}

// A OrphanClassSpecTemplate says what is made.
type OrphanClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings.
	ForProvider NutParameters `json:"forProvider"`
}

// A OrphanClass is a template.
//
// +kubebuilder:object:root=true
// +bowline:claims=ThingClaim.example.org
type OrphanClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	SpecTemplate OrphanClassSpecTemplate `json:"specTemplate,omitempty"`
}

// BarParameters are the settings of a bar.
// https://example.org/things
type BarParameters struct {
	// Size of the bar.
	// +optional
	Size *int64 `json:"size,omitempty"`
}

// BarObservation is what is reported of a bar.
type BarObservation struct {
	// ID of the bar.
	ID string `json:"id,omitempty"`
}

// A Bar is a bar.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
// +bowline:class=ThingClaim.example.org
type Bar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BarSpec   `json:"spec"`
	Status BarStatus `json:"status,omitempty"`
}

// A BarClass is something else.
type BarClass struct{}
