// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// A ProviderConfigReference names the ProviderConfig that a managed resource uses (N2).
type ProviderConfigReference struct {
	// Name of the ProviderConfig.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Kind of the provider configuration. Default: ProviderConfig.
	// +kubebuilder:validation:Enum=ProviderConfig
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
