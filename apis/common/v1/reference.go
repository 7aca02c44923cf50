// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Kinds of provider configurations (N2).
const (
	// ProviderConfigKind is cluster-scoped for the cluster-scoped kinds of a provider and namespaced for its namespaced
	// ones.
	ProviderConfigKind        = "ProviderConfig"
	ClusterProviderConfigKind = "ClusterProviderConfig" // cluster-scoped and serves namespaced kinds
)

// A ProviderConfigReference names the ProviderConfig that a managed resource uses (N2).
type ProviderConfigReference struct {
	// Name of the ProviderConfig.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Kind of the provider configuration. Default: ProviderConfig.
	// +kubebuilder:validation:Enum=ProviderConfig;ClusterProviderConfig
	// +optional
	Kind string `json:"kind,omitempty"`
}

// A SecretReference names a Secret. One without a name refers to nothing (R210).
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// A LocalSecretReference names a Secret in the object's own namespace.
type LocalSecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// A SecretKeySelector selects one key of one Secret.
type SecretKeySelector struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the Secret.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
	// Key of the Secret's data to use.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// A LocalSecretKeySelector selects one key of one Secret in the object's own namespace. It is the type of the secret
// inputs, named <field>SecretRef, of kinds that exist in a namespace only: those read no other namespace's Secrets (N2, P60).
type LocalSecretKeySelector struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key of the Secret's data to use.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}

// A ResolutionPolicy is what happens while a reference cannot be resolved.
// +kubebuilder:validation:Enum=Required;Optional
type ResolutionPolicy string

// Resolution policies. An unset one means ResolutionPolicyRequired.
const (
	ResolutionPolicyRequired ResolutionPolicy = "Required" // waits until the reference can be resolved
	ResolutionPolicyOptional ResolutionPolicy = "Optional" // continues without the value
)

// A ResolvePolicy is when a reference is resolved.
// +kubebuilder:validation:Enum=Always;IfNotPresent
type ResolvePolicy string

// Resolve policies. An unset one means ResolvePolicyIfNotPresent.
const (
	// ResolvePolicyAlways resolves the reference in every pass, so that the value follows the referenced object.
	ResolvePolicyAlways       ResolvePolicy = "Always"
	ResolvePolicyIfNotPresent ResolvePolicy = "IfNotPresent" // resolves the reference once and keeps the value
)

// A Policy is how a reference or selector is resolved.
type Policy struct {
	// Resolution is what happens while the reference cannot be resolved: Required, the default, waits; Optional
	// continues without the value.
	// +kubebuilder:default=Required
	// +optional
	Resolution *ResolutionPolicy `json:"resolution,omitempty"`
	// Resolve is when the reference is resolved: IfNotPresent, the default, does it once; Always follows the
	// referenced object.
	// +optional
	Resolve *ResolvePolicy `json:"resolve,omitempty"`
}

// IsResolutionPolicyOptional is true if the object can do without the value.
func (p *Policy) IsResolutionPolicyOptional() bool {
	return p != nil && p.Resolution != nil && *p.Resolution == ResolutionPolicyOptional
}

// IsResolvePolicyAlways is true if the reference is to be resolved in every pass.
func (p *Policy) IsResolvePolicyAlways() bool {
	return p != nil && p.Resolve != nil && *p.Resolve == ResolvePolicyAlways
}

// A Reference names another managed resource, of the same namespace if the object has one.
type Reference struct {
	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Policy of the reference.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}

// A Selector chooses another managed resource, of the same namespace if the object has one (R162 to R164).
type Selector struct {
	// MatchLabels chooses an object that carries all of these labels.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchControllerRef chooses an object with the same controller reference as this one.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`
	// Policy of the selection.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}

// A NamespacedReference names another managed resource, in any namespace.
type NamespacedReference struct {
	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace of the referenced object. Default: the namespace of the referring object.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Policy of the reference.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}

// A NamespacedSelector chooses another managed resource, in any namespace.
type NamespacedSelector struct {
	// MatchLabels chooses an object that carries all of these labels.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchControllerRef chooses an object with the same controller reference as this one.
	// +optional
	MatchControllerRef *bool `json:"matchControllerRef,omitempty"`
	// Namespace of the selected object. Default: the namespace of the referring object.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Policy of the selection.
	// +optional
	Policy *Policy `json:"policy,omitempty"`
}
