// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// TenantDatabaseParameters are the settings of a tenant's database.
// https://www.postgresql.org/docs/current/sql-createdatabase.html
type TenantDatabaseParameters struct {
	// EngineVersion is the major version that the server must have, for example "15". Default: that of the server.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*$`
	EngineVersion *string `json:"engineVersion,omitempty"`
	// PasswordSecretRef selects the key of the Secret that holds the password of the owner. A random value is generated if
	// it is not set. The connection Secret contains the password; the server receives a verifier only.
	// +bowline:generated=password
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`
	// ConnectionLimit is the maximum number of concurrent connections, not counting superusers; -1, the default, is no limit. It applies
	// to the database, and to its owner across all databases of the server.
	// +optional
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=-1
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// Public lets every role of the server connect. Default: false, only the owner can connect.
	// +optional
	// +kubebuilder:default=false
	Public *bool `json:"public,omitempty"`
	// Settings are configuration parameters for sessions, by name, for example work_mem.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Settings map[string]string `json:"settings,omitempty"`
}

// TenantDatabaseObservation is what PostgreSQL reports of a tenant's database.
type TenantDatabaseObservation struct {
	// OID is the object identifier of the database on the server.
	OID uint32 `json:"oid,omitempty"`
	// ServerVersion is the version of the server, for example 15.18.
	ServerVersion string `json:"serverVersion,omitempty"`
}

// A TenantDatabase is a database of a shared PostgreSQL server and the role that owns it. Both have the same name, which is the
// external name, and no other role may connect. Connection details are written to the Secret that
// spec.writeConnectionSecretToRef names, under the keys endpoint, port, database, username and password. Deleting it
// deletes the data and terminates connected sessions.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster
// +bowline:class=PostgreSQLInstance.database.crossplane.io
type TenantDatabase struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantDatabaseSpec   `json:"spec"`
	Status TenantDatabaseStatus `json:"status,omitempty"`
}
