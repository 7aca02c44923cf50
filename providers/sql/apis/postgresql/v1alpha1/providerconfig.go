// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec configures access to a PostgreSQL server. The credentials are the password. Fields that are not set are
// read from the keys endpoint, port and username of the same Secret, so credentials can refer to the connection Secret of a
// managed PostgreSQL server, key password.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	// Endpoint is the host name or address of the server. Default: key endpoint of the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Endpoint *string `json:"endpoint,omitempty"`
	// Port is the TCP port of the server. Default: key port of the Secret, else 5432.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int `json:"port,omitempty"`
	// Username is the role to connect as. It needs the privileges for its task: CREATEDB for databases, CREATEROLE for roles.
	// Default: key username of the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Username *string `json:"username,omitempty"`
	// Database to connect to for objects that belong to no database, such as roles. Default: postgres.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`
	// SSLMode is the sslmode of libpq. Default: verify-full if rootCAs is set, else prefer, which does not protect against an
	// attacker on the network.
	// +optional
	// +kubebuilder:validation:Enum=disable;prefer;require;verify-ca;verify-full
	SSLMode *string `json:"sslMode,omitempty"`
	// RootCAs are the PEM certificates of the authorities that may sign the server's certificate. Default: those of the
	// controller's system.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	RootCAs *string `json:"rootCAs,omitempty"`
	// MaxConnections is the maximum number of concurrent connections to the server, across all databases. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConnections *int `json:"maxConnections,omitempty"`
}

// A ProviderConfig configures access to a PostgreSQL server. Managed resources refer to it by name; the default is the one named
// "default".
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
