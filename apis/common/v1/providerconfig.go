// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ProviderSpec is the common part of a ProviderConfig's spec.
type ProviderSpec struct {
	// Credentials to authenticate to the external system with.
	Credentials ProviderCredentials `json:"credentials"`
	// PollInterval is how often the external resources of this configuration's users are observed, unless an object has
	// the annotation crossplane.io/poll-interval. Default: that of the controller.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="pollInterval must be at least 1s"
	// +optional
	PollInterval *metav1.Duration `json:"pollInterval,omitempty"`
	// Adoption decides which external resources that exist already the users of this configuration may adopt, if they have the
	// annotation crossplane.io/external-name or bowline.dev/take-over-from: None; Owned, only those with the ownership label of
	// another managed resource; or Any. Users in a namespace of a cluster-scoped configuration adopt only those with the label
	// bowline-namespace, whose value is their namespace. Default: Any.
	// +optional
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// AdoptableNames are patterns of the external names that may be adopted; * stands for any text. Default: all names.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	// +listType=atomic
	AdoptableNames []string `json:"adoptableNames,omitempty"`
	// Limits bound the calls to the external system that the users of this configuration make together.
	// +optional
	Limits *CallLimits `json:"limits,omitempty"`
}

// CallLimits bound calls to an external system.
type CallLimits struct {
	// CallsPerSecond is the most calls per second on average. Default: no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	CallsPerSecond *int32 `json:"callsPerSecond,omitempty"`
	// Burst is how many calls may be made at once after a quiet time. Default: callsPerSecond.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Burst *int32 `json:"burst,omitempty"`
	// InFlight is how many calls may wait for their answer at the same time. Default: no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	InFlight *int32 `json:"inFlight,omitempty"`
	// DeletionsPerMinute is how many external resources may be deleted within a minute. If more are to be deleted, further deletions
	// are paused until a person resumes them with bowline resume-deletions. Where several namespaces share a configuration, this is the
	// limit of each namespace, whose deletions alone are paused, and twice as many that of all. 0 is no limit. Default: 50.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DeletionsPerMinute *int32 `json:"deletionsPerMinute,omitempty"`
}

// ProviderCredentials say where the credentials of an external system come from.
// +kubebuilder:validation:XValidation:rule="self.source != 'Secret' || has(self.secretRef)",message="source Secret needs secretRef with namespace, name and key"
// +kubebuilder:validation:XValidation:rule="self.source != 'Environment' || has(self.env)",message="source Environment needs env with the name of a variable"
// +kubebuilder:validation:XValidation:rule="self.source != 'Filesystem' || has(self.fs)",message="source Filesystem needs fs with the path of a file"
type ProviderCredentials struct {
	// Source of the credentials.
	Source CredentialsSource `json:"source"`
	// SecretRef selects the key of the Secret that holds the credentials. Only for source Secret.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// Env names the environment variable of the controller that holds the credentials. Only for source Environment, and
	// only variables that the controller was started to offer.
	// +optional
	Env *EnvSelector `json:"env,omitempty"`
	// Fs names the file of the controller that holds the credentials. Only for source Filesystem, and only in folders
	// that the controller was started to offer.
	// +optional
	Fs *FsSelector `json:"fs,omitempty"`
}

// An EnvSelector selects an environment variable.
type EnvSelector struct {
	// Name of the variable.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// An FsSelector selects a file.
type FsSelector struct {
	// Path of the file.
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`
}

// A CredentialsSource is a place that credentials come from.
// +kubebuilder:validation:Enum=Secret;Environment;Filesystem;InjectedIdentity;None
type CredentialsSource string

// Sources of credentials.
const (
	CredentialsSourceSecret CredentialsSource = "Secret" // reads the credentials from a Secret
	// CredentialsSourceEnvironment reads the credentials from an environment variable of the controller.
	CredentialsSourceEnvironment CredentialsSource = "Environment"
	CredentialsSourceFilesystem  CredentialsSource = "Filesystem" // reads the credentials from a file that the controller sees
	// CredentialsSourceInjectedIdentity uses the identity that the controller's surroundings give it.
	CredentialsSourceInjectedIdentity CredentialsSource = "InjectedIdentity"
	CredentialsSourceNone             CredentialsSource = "None" // needs no credentials
)

// A ProviderConfigStatus is the common part of a ProviderConfig's status.
type ProviderConfigStatus struct {
	ConditionedStatus `json:",inline"`
	// Users is how many managed resources use this configuration.
	// +optional
	Users int64 `json:"users,omitempty"`
	// PausedDeletions are the namespaces whose deletions of external resources are paused. If there are none while condition
	// DeletionsPaused is True, all deletions are paused.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	PausedDeletions []PausedNamespace `json:"pausedDeletions,omitempty"`
}

// A PausedNamespace is a namespace whose deletions of external resources are paused.
type PausedNamespace struct {
	// Namespace of the managed resources, or of their claims; empty for cluster-scoped ones without a claim.
	Namespace string `json:"namespace"`
	// Since when they are paused.
	Since metav1.Time `json:"since"`
}

// SecretTypeConnection is the type of the Secrets that hold connection details. The runtime watches Secrets of this
// type only, so that other people's Secrets never enter its memory (N30).
const SecretTypeConnection corev1.SecretType = "connection.crossplane.io/v1alpha1"

// Usual keys of connection details (R211). The provider decides which ones a kind has.
const (
	ResourceCredentialsSecretEndpointKey = "endpoint"
	ResourceCredentialsSecretPortKey     = "port"
	ResourceCredentialsSecretUserKey     = "username"
	ResourceCredentialsSecretPasswordKey = "password"

	ResourceCredentialsSecretDatabaseKey = "database" // of the server, for applications

	// Those of clusters and of systems with certificates or tokens.
	ResourceCredentialsSecretCAKey         = "clusterCA"
	ResourceCredentialsSecretClientCertKey = "clientCert"
	ResourceCredentialsSecretClientKeyKey  = "clientKey"
	ResourceCredentialsSecretTokenKey      = "token"
	ResourceCredentialsSecretKubeconfigKey = "kubeconfig"
)
