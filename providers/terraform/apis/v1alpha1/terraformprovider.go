// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A TerraformProviderSpec says where a provider is, and what of it is served.
// +kubebuilder:validation:XValidation:rule="has(self.path) != has(self.source)",message="set either path, or source and version"
// +kubebuilder:validation:XValidation:rule="has(self.source) == has(self.version)",message="source needs version, such as >= 1.0, and version needs source"
type TerraformProviderSpec struct {
	// Path of the provider's binary, below a folder that the controllers were started with (--terraform-plugins); relative to the first one
	// that has it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// Source of the provider as in Terraform's required_providers, such as hashicorp/aws. The binary is looked for in the folders that the
	// controllers were started with, each a filesystem mirror in Terraform's own layout. What they do not have is downloaded if the
	// controllers were started with --terraform-mirror, and only then.
	// +optional
	// +kubebuilder:validation:Pattern=`^([a-z0-9][a-z0-9.-]*(:[0-9]+)?/)?[a-z0-9_-]+/[a-z0-9_-]+$`
	// +kubebuilder:validation:MaxLength=255
	Source string `json:"source,omitempty"`
	// Version is a constraint as in Terraform's required_providers, such as "~> 5.0" or "5.100.0". The newest version of the folders that
	// satisfies it is used, and only if there is none the newest one of the network mirror.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Version string `json:"version,omitempty"`
	// Checksums of which one must be that of the binary: its SHA-256 as sha256:HEX, or as in Terraform's lock file h1:BASE64 of the unpacked
	// package, or zh:HEX of the archive, which is known of downloaded packages only. Default: none is compared.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern=`^((sha256|zh):[0-9a-f]{64}|h1:[A-Za-z0-9+/]{43}=)$`
	// +listType=set
	Checksums []string `json:"checksums,omitempty"`
	// Types are the resource types to serve: names, or patterns with * for any characters. Each becomes two kinds, a cluster-scoped and a
	// namespaced one, and costs memory of the API server: name what you use.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9_*]+$`
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	Types []string `json:"types"`
	// TypeSettings are for single resource types.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=type
	TypeSettings []TypeSettings `json:"typeSettings,omitempty"`
}

// Settings of one resource type.
type TypeSettings struct {
	// Type is the name of the resource type.
	// +kubebuilder:validation:Pattern=`^[a-z0-9_]+$`
	// +kubebuilder:validation:MaxLength=128
	Type string `json:"type"`
	// ConnectionKeys are computed fields of status.atProvider that connection Secrets have beside the sensitive ones, such as endpoint and port.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.]+$`
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	ConnectionKeys []string `json:"connectionKeys,omitempty"`
	// ImportID is a template of the id by which the provider imports a resource of this type, such as {name} or {database}/{name}: braces hold
	// fields of spec.forProvider. With it, what exists already is not created again, and what an interrupted creation made is found. Default: none,
	// as for types whose id the external system chooses.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^{}]*(\{[A-Za-z_][^{}\s]*\}[^{}]*)+$`
	// +kubebuilder:validation:MaxLength=512
	ImportID string `json:"importID,omitempty"`
	// Ownership is the field of spec.forProvider for labels, such as tags or labels, in which Bowline sets bowline-uid to the UID of the object:
	// by it an interrupted creation is told from what others created. Default: none.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_.\[\]]*$`
	// +kubebuilder:validation:MaxLength=256
	Ownership string `json:"ownership,omitempty"`
	// ListConfig is the configuration of the provider's list of this type, such as {region: "{region}"}: braces in texts hold fields of
	// spec.forProvider, or metadata.uid for the UID of the object. In such a list Bowline looks for what an interrupted creation made, by the label
	// of ownership, where the provider lists the type. Default: {}, which suffices where the list requires no arguments.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ListConfig *runtime.RawExtension `json:"listConfig,omitempty"`
	// AbsentAfter is how long an import or a list must find nothing until a creation that was interrupted counts as one that made nothing, and is
	// repeated: no shorter than the external system may take to show what was created. Default: 5m.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="absentAfter must be at least 1s"
	// +optional
	AbsentAfter *metav1.Duration `json:"absentAfter,omitempty"`
}

// A TerraformProviderStatus is what is known of a provider.
type TerraformProviderStatus struct {
	xpv1.ConditionedStatus `json:",inline"`
	// Binary is the path of the binary in use.
	// +optional
	Binary string `json:"binary,omitempty"`
	// Version of the provider, where the mirror tells it.
	// +optional
	Version string `json:"version,omitempty"`
	// Protocol is the version of Terraform's plugin protocol that the provider speaks.
	// +optional
	Protocol int `json:"protocol,omitempty"`
	// Available is how many resource types the provider has.
	// +optional
	Available int `json:"available,omitempty"`
	// Kinds are the resource types that are served, with their kinds: those of spec.types, and former ones until their objects are deleted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Kinds []ServedKind `json:"kinds,omitempty"`
	// RunningProcesses is how many processes of the provider run.
	// +optional
	RunningProcesses *int `json:"runningProcesses,omitempty"`
	// Restarts is how often a process was started again after it ended by itself, since the controllers started.
	// +optional
	Restarts *int `json:"restarts,omitempty"`
	// Processes of the configurations in use, at most 64: those that do not run first.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=namespace
	// +listMapKey=name
	Processes []Process `json:"processes,omitempty"`
	// MoreProcesses is how many configurations in use processes leaves out.
	// +optional
	MoreProcesses int `json:"moreProcesses,omitempty"`
}

// A Process is that of one configuration.
type Process struct {
	// Kind of the configuration: ProviderConfig or ClusterProviderConfig.
	Kind string `json:"kind"`
	// Namespace of the configuration. Empty for cluster-scoped ones.
	// +kubebuilder:default=""
	Namespace string `json:"namespace"`
	// Name of the configuration.
	Name string `json:"name"`
	// State is Running; Ended, by itself, and started again at the next use; KeepsEnding, and started again after a pause; or CannotStart.
	State string `json:"state"`
	// Reason why it cannot be started, as in conditions of objects.
	// +optional
	Reason string `json:"reason,omitempty"`
	// StartedAt is when it was last started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Restarts is how often it was started again after it ended by itself, while the configuration was in use.
	// +optional
	Restarts int `json:"restarts,omitempty"`
	// MemoryBytes is the resident memory of the process, of what it started, and of its journal. It is read once a minute, on Linux, and
	// changes here by more than a half only.
	// +optional
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
}

// A ServedKind is the kind of a resource type.
type ServedKind struct {
	// Type is the name of the resource type.
	Type string `json:"type"`
	// Kind of the managed resources.
	Kind string `json:"kind"`
	// Settings in use, as spec.typeSettings had them: they remain when the type is removed from the spec while it has objects, and when those of
	// the spec are wrong.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Settings *runtime.RawExtension `json:"settings,omitempty"`
	// Deprecated are the fields of forProvider and initProvider that the provider has deprecated. The API server warns of them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Deprecated []DeprecatedField `json:"deprecated,omitempty"`
}

// A DeprecatedField is one that objects should not set any more.
type DeprecatedField struct {
	// Field is its path, without the indices of lists, and with * for the keys of maps.
	Field string `json:"field"`
	// Message of the provider.
	// +optional
	Message string `json:"message,omitempty"`
}

// A TerraformProvider makes resource types of a Terraform provider managed kinds: postgresql_database of the TerraformProvider postgresql
// becomes Database of postgresql.tf.bowline.dev, and of postgresql.tf.m.bowline.dev in namespaces. The provider's binary runs unmodified, one
// process for each ProviderConfig in use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tfp,categories=terraform
// +kubebuilder:printcolumn:name="VERSION",type="string",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="PROCESSES",type="integer",JSONPath=".status.runningProcesses"
// +kubebuilder:printcolumn:name="RESTARTS",type="integer",JSONPath=".status.restarts"
// +kubebuilder:printcolumn:name="TYPES",type="string",JSONPath=".spec.types"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z][a-z0-9-]{0,30}$')",message="the name is part of the groups of kinds: use the provider's own, of lower case letters, digits and hyphens, at most 31"
// +bowline:platform
type TerraformProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TerraformProviderSpec `json:"spec"`
	// +optional
	Status TerraformProviderStatus `json:"status,omitempty"`
}
