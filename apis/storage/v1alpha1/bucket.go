// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// PredefinedACL says who may read and write a bucket without credentials.
// +kubebuilder:validation:Enum=Private;PublicRead;PublicReadWrite;AuthenticatedRead
type PredefinedACL string

// Predefined access.
const (
	// ACLPrivate is for nobody.
	ACLPrivate PredefinedACL = "Private"
	// ACLPublicRead lets everybody read.
	ACLPublicRead PredefinedACL = "PublicRead"
	// ACLPublicReadWrite lets everybody read and write.
	ACLPublicReadWrite PredefinedACL = "PublicReadWrite"
	// ACLAuthenticatedRead lets everybody with an account at the provider read.
	ACLAuthenticatedRead PredefinedACL = "AuthenticatedRead"
)

// LocalPermission says what credentials of a bucket are good for.
// +kubebuilder:validation:Enum=Read;Write;ReadWrite
type LocalPermission string

// Permissions of credentials.
const (
	// ReadPermission lets read.
	ReadPermission LocalPermission = "Read"
	// WritePermission lets write.
	WritePermission LocalPermission = "Write"
	// ReadWritePermission lets do both.
	ReadWritePermission LocalPermission = "ReadWrite"
)

// A BucketSpec is what you ask for.
type BucketSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Name of the bucket where it is stored: 3 to 63 lower case letters, digits, dots and hyphens. Names are often unique
	// among all customers of a provider, so leave it out unless your application must know it: you get one that is free.
	// It cannot change once there is something behind the claim.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`

	// PredefinedACL says who may read and write without credentials: Private is nobody, and what you get without it.
	// AuthenticatedRead is everybody with an account at the provider. It cannot change once there is something behind the
	// claim.
	// +immutable
	// +optional
	PredefinedACL *PredefinedACL `json:"predefinedACL,omitempty"`

	// LocalPermission says what the credentials in your Secret may do. Without it you get those that the class stands
	// for. It cannot change once there is something behind the claim.
	// +immutable
	// +optional
	LocalPermission *LocalPermission `json:"localPermission,omitempty"`
}

// A Bucket asks for a bucket of your own, to store files in. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, that holds endpoint, username and password, the latter two being
// the provider's access key and its secret. As long as it is not, the condition Ready says what it waits for.
//
// +kubebuilder:object:root=true
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what you ask for. All of it may be left out.
	Spec BucketSpec `json:"spec,omitempty"`

	// Status is how far it is.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
