// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package template has the parts that the definitions of all Terraform kinds have in common, as Go types. No program uses the types: package
// kinds completes their definitions at run time. After a change of the types run go generate in this folder.
//
// +kubebuilder:object:generate=true
// +groupName=template.tf.bowline.dev
// +versionName=v1alpha1
// +bowline:generate
// +bowline:providerConfigGroup=template.tf.bowline.dev
package template

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

//go:generate go run github.com/bowline-dev/bowline/internal/codegen/cmd .

// A Resource is a resource in the cluster scope.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
// +bowline:nolint=settings they are those of the resource type
type Resource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec ResourceSpec `json:"spec"`
	// Status is the observed state.
	Status ResourceStatus `json:"status,omitempty"`
}

// A ResourceSpec is the desired state of the resource.
type ResourceSpec struct {
	xpv1.ResourceSpec `json:",inline"`

	// ForProvider are the desired settings of the resource, as arguments of its Terraform resource type.
	ForProvider ResourceParameters `json:"forProvider"`
	// InitProvider are settings that only apply when the resource is created; later changes outside are kept. Settings in forProvider take
	// precedence.
	// +optional
	InitProvider *ResourceParameters `json:"initProvider,omitempty"`
	// References set fields of forProvider to values of other objects.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=field
	References []AnyReference `json:"references,omitempty"`
}

// ResourceParameters have the schema of secret inputs.
// https://developer.hashicorp.com/terraform/language/resources
type ResourceParameters struct {
	// ValueSecretRef selects the key of the Secret that holds a secret input.
	// +optional
	ValueSecretRef *xpv1.SecretKeySelector `json:"valueSecretRef,omitempty"`
}

// A ResourceStatus is the observed state of the resource.
type ResourceStatus struct {
	xpv1.ResourceStatus `json:",inline"`

	// AtProvider is what the Terraform provider last reported, without secret values.
	// +optional
	AtProvider ResourceObservation `json:"atProvider,omitzero"`
}

// A ResourceObservation is what the provider reported.
type ResourceObservation struct{}

// A LocalResource is a resource in a namespace.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Namespaced
// +bowline:nolint=settings they are those of the resource type
type LocalResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec LocalResourceSpec `json:"spec"`
	// Status is the observed state.
	Status ResourceStatus `json:"status,omitempty"`
}

// A LocalResourceSpec is the desired state of the resource.
type LocalResourceSpec struct {
	xpv1.NamespacedResourceSpec `json:",inline"`

	// ForProvider are the desired settings of the resource, as arguments of its Terraform resource type.
	ForProvider LocalResourceParameters `json:"forProvider"`
	// InitProvider are settings that only apply when the resource is created; later changes outside are kept. Settings in forProvider take
	// precedence.
	// +optional
	InitProvider *LocalResourceParameters `json:"initProvider,omitempty"`
	// References set fields of forProvider to values of other objects of the namespace.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=field
	References []Reference `json:"references,omitempty"`
}

// LocalResourceParameters have the schema of secret inputs.
// https://developer.hashicorp.com/terraform/language/resources
type LocalResourceParameters struct {
	// ValueSecretRef selects the key of the Secret, in the namespace of the object, that holds a secret input.
	// +optional
	ValueSecretRef *xpv1.LocalSecretKeySelector `json:"valueSecretRef,omitempty"`
}

// A Reference sets a field to a value of another object.
type Reference struct {
	// Field of forProvider to set, for example vpcId or subnets[0].networkId.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^.\[\]]+(\.[^.\[\]]+|\[[^\[\]]+\])*$`
	Field string `json:"field"`
	// APIVersion of the other object. Default: that of this object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind of the other object, which is a managed resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the other object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Value is the path of the value in the other object, for example status.atProvider.arn. Default: its external name, which is the id of
	// a Terraform resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^.\[\]]+(\.[^.\[\]]+|\[[^\[\]]+\])*$`
	Value string `json:"value,omitempty"`
	// Policy of the reference.
	// +optional
	Policy *xpv1.Policy `json:"policy,omitempty"`
}

// An AnyReference is a Reference that may lead into a namespace.
type AnyReference struct {
	Reference `json:",inline"`

	// Namespace of the other object, if its kind is namespaced.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// A ProviderConfigSpec is the configuration of a process of a Terraform provider.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// Configuration of the provider, as arguments of its Terraform provider block.
	// +optional
	Configuration Configuration `json:"configuration,omitzero"`
	// Environment are variables of the provider's process, for what the provider reads from its environment.
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	Environment []Variable `json:"environment,omitempty"`
	// Files of the provider's process, for what the provider reads from files. Paths in configuration and environment are relative to the
	// folder that contains them, in which the process runs.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Files []File `json:"files,omitempty"`
}

// A Configuration of a provider.
type Configuration struct{}

// A Variable of the environment.
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueSecretRef)",message="give either value or valueSecretRef"
type Variable struct {
	// Name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// Value of the variable, if it is not secret.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value *string `json:"value,omitempty"`
	// ValueSecretRef selects the key of the Secret that holds the value.
	// +optional
	ValueSecretRef *xpv1.SecretKeySelector `json:"valueSecretRef,omitempty"`
}

// A File of the provider's process.
type File struct {
	// Name of the file: a path below the folder of the process.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	Name string `json:"name"`
	// ContentSecretRef selects the key of the Secret that holds the content.
	ContentSecretRef xpv1.SecretKeySelector `json:"contentSecretRef"`
}

// A ProviderConfig configures a Terraform provider. Managed resources refer to it by name; the default is the one named "default".
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how the provider is run.
	Spec ProviderConfigSpec `json:"spec"`
	// Status is the observed state.
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
