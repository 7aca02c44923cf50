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
//
// +kubebuilder:validation:XValidation:fieldPath=".endpoint",rule="!has(self.endpoint) || self.endpoint.matches('^([A-Za-z0-9._-]+|[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*)$')",message="endpoint must be a host name or an address and nothing else: put the port into spec.port, and the password into the Secret that credentials names"
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
	// Escalation decides what objects in a namespace may get through a ClusterProviderConfig beyond what their namespace has: Any; or
	// None, neither a Role with superuser, createRole, createDb, replication or bypassRls, nor membership in a role of others, nor such a
	// role as the owner of a Database or Schema, nor a Grant, Schema or Extension in a database of others, nor a copy of one, nor an
	// Extension that PostgreSQL does not mark as trusted, nor privileges beyond those of PUBLIC on tables, sequences, routines or schemas
	// that no role of the namespace owns, nor settings that only superusers may change, nor a tablespace on which neither PUBLIC nor a role
	// of the namespace has privilege CREATE. A role or database is of the namespace if an object there created it, or if it has the label
	// bowline-namespace with that value. Other configurations, and cluster-scoped objects, are not restricted. Default: None.
	// +optional
	Escalation EscalationPolicy `json:"escalation,omitempty"`
	// Extensions that escalation None permits although PostgreSQL does not mark them as trusted. Name none by which its users can run
	// programs, or reach files or other servers. Default: none.
	// +listType=set
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Extensions []string `json:"extensions,omitempty"`
}

// An EscalationPolicy decides which privileges of a shared server objects in a namespace may get (N57).
// +kubebuilder:validation:Enum=None;Any
type EscalationPolicy string

// Escalation policies. An unset one means EscalateNone.
const (
	EscalateNone EscalationPolicy = "None" // those on what their namespace has
	EscalateAny  EscalationPolicy = "Any"  // all that the user of the configuration can give
)

// A ProviderConfig configures access to a PostgreSQL server. Managed resources refer to it by name; the default is the one named
// "default".
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=`.spec.endpoint`
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderConfigSpec        `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}
