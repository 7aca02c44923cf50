// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// DatabaseParameters are the settings of a database.
// https://www.postgresql.org/docs/current/sql-createdatabase.html
type DatabaseParameters struct {
	// Owner is the role that owns the database. Default: the user of the provider configuration, unless the owner is changed outside.
	// +crossplane:generate:reference:type=Role
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Owner *string `json:"owner,omitempty"`
	// OwnerRef names the Role that owns the database.
	// +optional
	OwnerRef *xpv1.Reference `json:"ownerRef,omitempty"`
	// OwnerSelector selects the Role for ownerRef.
	// +optional
	OwnerSelector *xpv1.Selector `json:"ownerSelector,omitempty"`
	// Template is the database to copy. Used at creation only. Default: template1.
	// +bowline:compare=writeOnly
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Template *string `json:"template,omitempty"`
	// Encoding is the character set, for example UTF8. It cannot change. Default: that of the template.
	// +bowline:compare=ignoreCase
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Encoding *string `json:"encoding,omitempty"`
	// LCCollate is the libc locale for collation. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	LCCollate *string `json:"lcCollate,omitempty"`
	// LCCtype is the libc locale for character classification. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	LCCtype *string `json:"lcCtype,omitempty"`
	// LocaleProvider is libc, icu, or, since version 17, builtin. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:Enum=libc;icu;builtin
	LocaleProvider *string `json:"localeProvider,omitempty"`
	// ICULocale is the ICU locale if localeProvider is icu. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ICULocale *string `json:"icuLocale,omitempty"`
	// ICURules are additional collation rules, since version 16. They cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ICURules *string `json:"icuRules,omitempty"`
	// BuiltinLocale is the builtin locale if localeProvider is builtin. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	BuiltinLocale *string `json:"builtinLocale,omitempty"`
	// Tablespace is the default tablespace. Changing it moves the tables, which fails while sessions are connected.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Tablespace *string `json:"tablespace,omitempty"`
	// AllowConnections permits connections. Default: true.
	// +optional
	AllowConnections *bool `json:"allowConnections,omitempty"`
	// ConnectionLimit is the maximum number of concurrent connections of all roles together, not counting superusers; -1, the default, is
	// no limit. Every role of the server can use them up, unless the owner revokes CONNECT from PUBLIC.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=262143
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// IsTemplate lets every role with CREATEDB copy the database. Default: false.
	// +optional
	IsTemplate *bool `json:"isTemplate,omitempty"`
	// Settings are configuration parameters for sessions, by name, for example work_mem. Others are not compared: the owner
	// of the database may set them.
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

// DatabaseObservation is what PostgreSQL reports of a database.
type DatabaseObservation struct {
	// OID is the object identifier on the server.
	OID uint32 `json:"oid,omitempty"`
	// CurrentOwner is the role that owns it, also if the spec does not set it.
	CurrentOwner string `json:"currentOwner,omitempty"`
	// CollationVersion is the version of the collation library that the indexes were built with.
	CollationVersion string `json:"collationVersion,omitempty"`
	// Invalid is true after an interrupted deletion. An invalid database can only be deleted.
	Invalid bool `json:"invalid,omitempty"`
}

// A Database is a database of a PostgreSQL server. Its name is the external name. Deleting it deletes the data and terminates
// connected sessions. PostgreSQL lets every role of the server connect to it, also those of other namespaces, until its owner executes
// REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC; a Grant of CONNECT then lets a role connect.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pgdb
// +bowline:scopes=Cluster,Namespaced
// +bowline:holdsData
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitempty"`
}

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
	// to the database, and to its owner across all databases of the server. A limit that the server cannot keep besides those of its
	// other databases is refused.
	// +optional
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=262143
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// Public lets every role of the server connect. Default: false, only the owner can connect.
	// +optional
	// +kubebuilder:default=false
	Public *bool `json:"public,omitempty"`
	// Settings are configuration parameters for sessions, by name, for example work_mem. Others are not compared: the owner
	// of the database may set them.
	// +bowline:compare=chosen
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
// +kubebuilder:resource:shortName=tdb
// +bowline:scopes=Cluster
// +bowline:class=PostgreSQLInstance.database.crossplane.io
// +bowline:holdsData
type TenantDatabase struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantDatabaseSpec   `json:"spec"`
	Status TenantDatabaseStatus `json:"status,omitempty"`
}
