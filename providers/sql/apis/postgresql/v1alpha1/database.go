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
	// Owner is the role that owns the database. Default: the user of the provider configuration, until somebody gives it away.
	// +crossplane:generate:reference:type=Role
	// +bowline:compare=chosen
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Owner *string `json:"owner,omitempty"`

	// OwnerRef names the Role that owns the database.
	// +optional
	OwnerRef *xpv1.Reference `json:"ownerRef,omitempty"`

	// OwnerSelector chooses the Role that ownerRef becomes.
	// +optional
	OwnerSelector *xpv1.Selector `json:"ownerSelector,omitempty"`

	// Template is the database that it begins as a copy of. It counts at creation only. Default: template1.
	// +bowline:compare=writeOnly
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Template *string `json:"template,omitempty"`

	// Encoding of its texts, for example UTF8. It cannot change. Default: that of the template.
	// +bowline:compare=ignoreCase
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Encoding *string `json:"encoding,omitempty"`

	// LCCollate is the libc locale of its order. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	LCCollate *string `json:"lcCollate,omitempty"`

	// LCCtype is the libc locale of its classes of characters. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	LCCtype *string `json:"lcCtype,omitempty"`

	// LocaleProvider is libc, icu, or from version 17 on builtin. It cannot change. Default: that of the template.
	// +immutable
	// +optional
	// +kubebuilder:validation:Enum=libc;icu;builtin
	LocaleProvider *string `json:"localeProvider,omitempty"`

	// ICULocale is the locale where localeProvider is icu. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ICULocale *string `json:"icuLocale,omitempty"`

	// ICURules are further rules of order, from version 16 on. They cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ICURules *string `json:"icuRules,omitempty"`

	// BuiltinLocale is the locale where localeProvider is builtin. It cannot change.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	BuiltinLocale *string `json:"builtinLocale,omitempty"`

	// Tablespace is where its tables are by default. A change moves them, for which nobody may be connected.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Tablespace *string `json:"tablespace,omitempty"`

	// AllowConnections is false where nobody may connect. Default: true.
	// +optional
	AllowConnections *bool `json:"allowConnections,omitempty"`

	// ConnectionLimit is the most connections at a time, of all but superusers; -1, the default, is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ConnectionLimit *int `json:"connectionLimit,omitempty"`

	// IsTemplate lets everybody who may create databases copy it. Default: false.
	// +optional
	IsTemplate *bool `json:"isTemplate,omitempty"`

	// Settings are configuration parameters of its sessions, by name, for example work_mem.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Settings map[string]string `json:"settings,omitempty"`

	// Comment is for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Comment *string `json:"comment,omitempty"`
}

// DatabaseObservation is what PostgreSQL reports of a database.
type DatabaseObservation struct {
	// OID is the server's number for it.
	OID uint32 `json:"oid,omitempty"`

	// CurrentOwner is the role that owns it, whoever chose that.
	CurrentOwner string `json:"currentOwner,omitempty"`

	// CollationVersion is the version of the library that its indexes were ordered by.
	CollationVersion string `json:"collationVersion,omitempty"`

	// Invalid is true after its deletion was interrupted: it can only be deleted.
	Invalid bool `json:"invalid,omitempty"`
}

// A Database is a database of a PostgreSQL server. Its name is the external name. Deleting it deletes its data and ends the
// sessions that are connected to it.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitempty"`
}
