// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SchemaParameters are the settings of a schema.
// https://www.postgresql.org/docs/current/sql-createschema.html
type SchemaParameters struct {
	// Database of the schema. It cannot change.
	// +crossplane:generate:reference:type=Database
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`
	// DatabaseRef names the Database of the schema. It cannot change.
	// +immutable
	// +optional
	DatabaseRef *xpv1.Reference `json:"databaseRef,omitempty"`
	// DatabaseSelector selects the Database for databaseRef.
	// +optional
	DatabaseSelector *xpv1.Selector `json:"databaseSelector,omitempty"`
	// Owner is the role that owns the schema. Default: the user of the provider configuration, unless the owner is changed outside.
	// +crossplane:generate:reference:type=Role
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Owner *string `json:"owner,omitempty"`
	// OwnerRef names the Role that owns the schema.
	// +optional
	OwnerRef *xpv1.Reference `json:"ownerRef,omitempty"`
	// OwnerSelector selects the Role for ownerRef.
	// +optional
	OwnerSelector *xpv1.Selector `json:"ownerSelector,omitempty"`
	// Comment on the object, free text. An unset one is not compared.
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Comment *string `json:"comment,omitempty"`
	// Cascade lets the deletion of the schema delete its contents and all objects that depend on them. Default: false, a schema
	// that is not empty is not deleted.
	// +bowline:compare=writeOnly
	// +optional
	Cascade *bool `json:"cascade,omitempty"`
}

// SchemaObservation is what PostgreSQL reports of a schema.
type SchemaObservation struct {
	// OID is the object identifier on the server.
	OID uint32 `json:"oid,omitempty"`
	// DatabaseOID is the object identifier of the database, which a new name of the database does not change.
	DatabaseOID uint32 `json:"databaseOid,omitempty"`
	// CurrentOwner is the role that owns it, also if the spec does not set it.
	CurrentOwner string `json:"currentOwner,omitempty"`
}

// A Schema is a schema of a database of a PostgreSQL server. Its name is the external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pgschema
// +bowline:scopes=Cluster,Namespaced
// +bowline:holdsData
type Schema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchemaSpec   `json:"spec"`
	Status SchemaStatus `json:"status,omitempty"`
}

// ExtensionParameters are the settings of an extension.
// https://www.postgresql.org/docs/current/sql-createextension.html
type ExtensionParameters struct {
	// Database that the extension is installed in. It cannot change.
	// +crossplane:generate:reference:type=Database
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`
	// DatabaseRef names the Database that the extension is installed in. It cannot change.
	// +immutable
	// +optional
	DatabaseRef *xpv1.Reference `json:"databaseRef,omitempty"`
	// DatabaseSelector selects the Database for databaseRef.
	// +optional
	DatabaseSelector *xpv1.Selector `json:"databaseSelector,omitempty"`
	// Version to install or to update to. Default: the server's default version, unless it is updated outside.
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version *string `json:"version,omitempty"`
	// Schema for the objects of the extension; not every extension can be moved. Default: the one the extension requires, else
	// public.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Schema *string `json:"schema,omitempty"`
	// InstallDependencies also installs the extensions that this one needs, which are kept when it is deleted. Used at
	// creation only. Default: false.
	// +bowline:compare=writeOnly
	// +optional
	InstallDependencies *bool `json:"installDependencies,omitempty"`
	// Cascade lets the deletion of the extension delete all objects that depend on it, such as columns of its types. Default:
	// false, an extension that is in use is not deleted.
	// +bowline:compare=writeOnly
	// +optional
	Cascade *bool `json:"cascade,omitempty"`
}

// ExtensionObservation is what PostgreSQL reports of an extension.
type ExtensionObservation struct {
	// OID is the object identifier on the server.
	OID uint32 `json:"oid,omitempty"`
	// DatabaseOID is the object identifier of the database, which a new name of the database does not change.
	DatabaseOID uint32 `json:"databaseOid,omitempty"`
	// InstalledVersion is the version that is installed, also if the spec does not set it.
	InstalledVersion string `json:"installedVersion,omitempty"`
}

// An Extension is an extension that is installed in a database of a PostgreSQL server. Its name is the external name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pgext
// +bowline:scopes=Cluster,Namespaced
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ExtensionSpec   `json:"spec"`
	Status ExtensionStatus `json:"status,omitempty"`
}
