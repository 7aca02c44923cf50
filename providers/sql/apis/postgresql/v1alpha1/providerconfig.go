// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec says how to reach a PostgreSQL server. The password is what credentials name. What else is not set
// here is taken from the keys endpoint, port, username and database of the same Secret, so that the connection secret of
// any PostgreSQL managed resource will do: name it and its key password.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// Endpoint is the host name or address of the server. Default: what the Secret has under the key endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Endpoint *string `json:"endpoint,omitempty"`

	// Port is the TCP port of the server. Default: what the Secret has under the key port, else 5432.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int `json:"port,omitempty"`

	// Username is the role to connect as, which has to be allowed what it is to do: CREATEDB for databases, CREATEROLE for
	// roles. Default: what the Secret has under the key username.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Username *string `json:"username,omitempty"`

	// Database is the one to connect to for what is in no other database. Default: postgres.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`

	// SSLMode is what is demanded of encryption, in the words of libpq. Default: verify-full if rootCAs is set, else prefer,
	// with which somebody between here and the server can prevent encryption.
	// +optional
	// +kubebuilder:validation:Enum=disable;prefer;require;verify-ca;verify-full
	SSLMode *string `json:"sslMode,omitempty"`

	// RootCAs are the certificates, in PEM, that the server's has to be signed by. Default: those that the controller's
	// system trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	RootCAs *string `json:"rootCAs,omitempty"`

	// MaxConnections is the most connections to the server at a time, to all its databases together. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConnections *int `json:"maxConnections,omitempty"`
}

// A ProviderConfig says how to reach a PostgreSQL server. Managed resources refer to it by name; those that name none use
// the one called "default".
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="USERS",type=integer,JSONPath=`.status.users`
// +kubebuilder:printcolumn:name="SECRET",type=string,priority=1,JSONPath=`.spec.credentials.secretRef.name`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
