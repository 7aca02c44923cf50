// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// A ProviderSpec is the common part of a ProviderConfig's spec.
type ProviderSpec struct {
	// Credentials to authenticate to the external system with.
	Credentials ProviderCredentials `json:"credentials"`
}

// ProviderCredentials say where the credentials of an external system come from.
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="source Secret needs secretRef with namespace, name and key"
type ProviderCredentials struct {
	// Source of the credentials.
	Source CredentialsSource `json:"source"`

	// SecretRef selects the key of the Secret that holds the credentials. Only for source Secret.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
}

// A CredentialsSource is a place that credentials come from.
// +kubebuilder:validation:Enum=Secret
type CredentialsSource string

// CredentialsSourceSecret reads the credentials from a Secret.
const CredentialsSourceSecret CredentialsSource = "Secret"
