// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// RoleParameters are the settings of a role. Memberships are objects of kind Grant.
// https://www.postgresql.org/docs/current/sql-createrole.html
type RoleParameters struct {
	// Login lets the role connect. Default: false.
	// +optional
	Login *bool `json:"login,omitempty"`
	// PasswordSecretRef selects the key of the Secret that holds the password. A random value is generated if it is not
	// set. The connection Secret contains the password; the server receives a verifier only.
	// +bowline:generated=password
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`
	// ValidUntil is when the password expires: a time such as 2027-01-31T00:00:00Z, or infinity, the default.
	// +optional
	// +kubebuilder:validation:Pattern=`^(infinity|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)$`
	ValidUntil *string `json:"validUntil,omitempty"`
	// CreateDB lets the role create databases. Default: false.
	// +optional
	CreateDB *bool `json:"createDb,omitempty"`
	// CreateRole lets the role create and manage roles. Default: false.
	// +optional
	CreateRole *bool `json:"createRole,omitempty"`
	// Inherit gives the role the privileges of the roles that it is a member of, without SET ROLE. Default: true.
	// +optional
	Inherit *bool `json:"inherit,omitempty"`
	// Superuser bypasses all permission checks. Default: false.
	// +optional
	Superuser *bool `json:"superuser,omitempty"`
	// Replication lets the role start replication. Default: false.
	// +optional
	Replication *bool `json:"replication,omitempty"`
	// BypassRLS lets the role bypass row-level security. Default: false.
	// +optional
	BypassRLS *bool `json:"bypassRls,omitempty"`
	// ConnectionLimit is the maximum number of concurrent connections; -1, the default, is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=262143
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// Settings are configuration parameters for sessions in every database, by name, for example statement_timeout.
	// Others are not compared: the role may set them.
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Settings map[string]string `json:"settings,omitempty"`
	// Comment on the object, free text. An unset one is not compared.
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Comment *string `json:"comment,omitempty"`
}

// RoleObservation is what PostgreSQL reports of a role.
type RoleObservation struct {
	// OID is the object identifier on the server.
	OID uint32 `json:"oid,omitempty"`
}

// A Role is a role of a PostgreSQL server: a user, a group, or both. Its name is the external name. Its
// name and password are written to the Secret that spec.writeConnectionSecretToRef names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pgrole
// +bowline:scopes=Cluster,Namespaced
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RoleSpec   `json:"spec"`
	Status RoleStatus `json:"status,omitempty"`
}
