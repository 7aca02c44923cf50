// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// PredefinedACL is the access to a bucket without credentials.
// +kubebuilder:validation:Enum=Private;PublicRead;PublicReadWrite;AuthenticatedRead
type PredefinedACL string

// Predefined access.
const (
	// ACLPrivate denies access.
	ACLPrivate PredefinedACL = "Private"
	// ACLPublicRead lets everyone read.
	ACLPublicRead PredefinedACL = "PublicRead"
	// ACLPublicReadWrite lets everyone read and write.
	ACLPublicReadWrite PredefinedACL = "PublicReadWrite"
	// ACLAuthenticatedRead lets everyone with an account at the provider read.
	ACLAuthenticatedRead PredefinedACL = "AuthenticatedRead"
)

// LocalPermission is the access with the credentials of a bucket.
// +kubebuilder:validation:Enum=Read;Write;ReadWrite
type LocalPermission string

// Permissions of credentials.
const (
	// ReadPermission permits reading.
	ReadPermission LocalPermission = "Read"
	// WritePermission permits writing.
	WritePermission LocalPermission = "Write"
	// ReadWritePermission permits both.
	ReadWritePermission LocalPermission = "ReadWrite"
)

// A BucketSpec is the desired state of a claim.
type BucketSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Name of the bucket where it is stored: 3 to 63 lower case letters, digits, dots and hyphens. Names are often unique
	// across all customers of a provider. Default: a generated name that is free.
	// It cannot change once the claim is bound.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`

	// PredefinedACL is the access without credentials. Default: Private, none. AuthenticatedRead permits everyone with an account
	// at the provider. It cannot change once there is something behind the
	// claim.
	// +immutable
	// +optional
	PredefinedACL *PredefinedACL `json:"predefinedACL,omitempty"`

	// LocalPermission is the access with the credentials in your Secret. Default: that of the class. It cannot change once the claim is bound.
	// +immutable
	// +optional
	LocalPermission *LocalPermission `json:"localPermission,omitempty"`
}

// A Bucket asks for a bucket of your own, to store files in. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, the Secret has endpoint, username and password, the latter two being
// the provider's access key and its secret. Until then condition Ready shows the reason.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=bkt
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. All fields are optional.
	Spec BucketSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
