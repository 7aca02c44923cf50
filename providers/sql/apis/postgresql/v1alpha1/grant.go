// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// GrantParameters are the settings of a grant.
// https://www.postgresql.org/docs/current/sql-grant.html
type GrantParameters struct {
	// Role that holds the grant; public is everybody. It cannot change.
	// +crossplane:generate:reference:type=Role
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Role *string `json:"role,omitempty"`

	// RoleRef names the Role that holds the grant. It cannot change.
	// +immutable
	// +optional
	RoleRef *xpv1.Reference `json:"roleRef,omitempty"`

	// RoleSelector chooses the Role that roleRef becomes.
	// +optional
	RoleSelector *xpv1.Selector `json:"roleSelector,omitempty"`

	// Target is what the grant is about.
	Target GrantTarget `json:"target" vendor:"On"`

	// Privileges, such as SELECT or ALL, are all that the role holds of the target directly: others are revoked. A
	// membership has none.
	// +bowline:compare=set;ignoreCase
	// +listType=set
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Privileges []string `json:"privileges,omitempty"`

	// GrantOption lets the role pass the privileges on; for a membership it is the admin option. Default: false.
	// +optional
	GrantOption *bool `json:"grantOption,omitempty"`

	// Inherit gives a member the privileges of the role, from version 16 on. Default: what the member inherits otherwise.
	// +optional
	Inherit *bool `json:"inherit,omitempty"`

	// Set lets a member change to the role, from version 16 on. Default: true.
	// +optional
	Set *bool `json:"set,omitempty"`
}

// A GrantTarget is what a grant is about.
//
// +kubebuilder:validation:XValidation:rule="!has(self.names) || (has(self.kind) && self.kind in ['Table', 'Sequence', 'Routine'])",message="only grants on a Table, Sequence or Routine have names"
type GrantTarget struct {
	// Kind says what sort of object it is: a Role makes the holder its member, a Table stands for views too, a Routine for
	// functions, aggregates and procedures. It cannot change.
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:Enum=Role;Database;Schema;Table;Sequence;Routine
	Kind *string `json:"kind,omitempty"`

	// Role to become a member of. It cannot change.
	// +crossplane:generate:reference:type=Role
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Role *string `json:"role,omitempty"`

	// RoleRef names the Role to become a member of. It cannot change.
	// +immutable
	// +optional
	RoleRef *xpv1.Reference `json:"roleRef,omitempty"`

	// RoleSelector chooses the Role that roleRef becomes.
	// +optional
	RoleSelector *xpv1.Selector `json:"roleSelector,omitempty"`

	// Database where it is, for every kind but Role. It cannot change.
	// +crossplane:generate:reference:type=Database
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`

	// DatabaseRef names the Database where it is. It cannot change.
	// +immutable
	// +optional
	DatabaseRef *xpv1.Reference `json:"databaseRef,omitempty"`

	// DatabaseSelector chooses the Database that databaseRef becomes.
	// +optional
	DatabaseSelector *xpv1.Selector `json:"databaseSelector,omitempty"`

	// Schema in the database, for kinds Schema, Table, Sequence and Routine. It cannot change.
	// +crossplane:generate:reference:type=Schema
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Schema *string `json:"schema,omitempty"`

	// SchemaRef names the Schema. It cannot change.
	// +immutable
	// +optional
	SchemaRef *xpv1.Reference `json:"schemaRef,omitempty"`

	// SchemaSelector chooses the Schema that schemaRef becomes.
	// +optional
	SchemaSelector *xpv1.Selector `json:"schemaSelector,omitempty"`

	// Names of tables, sequences or routines in the schema. Without any, all are meant that there are; those that come later
	// get the grant at the next look. A routine is named alone, which means all of that name, or with the types of its
	// arguments, as in add(integer, integer). They cannot change.
	// +immutable
	// +listType=atomic
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	Names []string `json:"names,omitempty"`
}

// GrantObservation is what PostgreSQL reports of a grant.
type GrantObservation struct {
	// Objects is how many objects the target means.
	Objects int `json:"objects,omitempty"`
}

// A Grant is what one role holds of one target: a membership in another role, or privileges on a database, a schema, or the
// tables, sequences or routines of a schema. One target of one role has one Grant: two would revoke each other's privileges.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec   `json:"spec"`
	Status GrantStatus `json:"status,omitempty"`
}
