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
	// Role that receives the grant; public means every role. It cannot change.
	// +crossplane:generate:reference:type=Role
	// +bowline:required
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Role *string `json:"role,omitempty"`
	// RoleRef names the Role that receives the grant. It cannot change.
	// +immutable
	// +optional
	RoleRef *xpv1.Reference `json:"roleRef,omitempty"`
	// RoleSelector selects the Role for roleRef.
	// +optional
	RoleSelector *xpv1.Selector `json:"roleSelector,omitempty"`
	// Target of the grant.
	Target GrantTarget `json:"target" vendor:"On"`
	// Privileges, such as SELECT or ALL, that the role holds on the target; all others are revoked. A membership has none.
	// +bowline:compare=set;ignoreCase
	// +listType=set
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	Privileges []string `json:"privileges,omitempty"`
	// GrantOption lets the role grant the privileges to others; for a membership it is the admin option. Default: false.
	// +optional
	GrantOption *bool `json:"grantOption,omitempty"`
	// Inherit gives the member the privileges of the role, since version 16. Default: the member's attribute inherit.
	// +optional
	Inherit *bool `json:"inherit,omitempty"`
	// Set lets the member use SET ROLE, since version 16. Default: true.
	// +optional
	Set *bool `json:"set,omitempty"`
}

// A GrantTarget is a role, or the objects that privileges are granted on.
//
// +kubebuilder:validation:XValidation:rule="!has(self.names) || (has(self.kind) && self.kind in ['Table', 'Sequence', 'Routine'])",message="only grants on a Table, Sequence or Routine have names"
type GrantTarget struct {
	// Kind of the target: Role for a membership, Table also for views, Routine for functions, aggregates and procedures. It
	// cannot change.
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
	// RoleSelector selects the Role for roleRef.
	// +optional
	RoleSelector *xpv1.Selector `json:"roleSelector,omitempty"`
	// Database of the target, for every kind but Role. It cannot change.
	// +crossplane:generate:reference:type=Database
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Database *string `json:"database,omitempty"`
	// DatabaseRef names the Database of the target. It cannot change.
	// +immutable
	// +optional
	DatabaseRef *xpv1.Reference `json:"databaseRef,omitempty"`
	// DatabaseSelector selects the Database for databaseRef.
	// +optional
	DatabaseSelector *xpv1.Selector `json:"databaseSelector,omitempty"`
	// Schema of the target, for kinds Schema, Table, Sequence and Routine. It cannot change.
	// +crossplane:generate:reference:type=Schema
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Schema *string `json:"schema,omitempty"`
	// SchemaRef names the Schema. It cannot change.
	// +immutable
	// +optional
	SchemaRef *xpv1.Reference `json:"schemaRef,omitempty"`
	// SchemaSelector selects the Schema for schemaRef.
	// +optional
	SchemaSelector *xpv1.Selector `json:"schemaSelector,omitempty"`
	// Names of tables, sequences or routines in the schema. Default: all; those that are created later get the grant at the next
	// poll. The name of a routine alone means all routines of that name; add(integer, integer) is one. They cannot change.
	// +immutable
	// +listType=atomic
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	Names []string `json:"names,omitempty"`
}

// GrantObservation is what PostgreSQL reports of a grant.
type GrantObservation struct {
	// Objects is the number of objects that the target matches.
	Objects int `json:"objects,omitempty"`
	// TargetOID is the object identifier of the database of the target, or of the role to become a member of. A new name does not
	// change it.
	TargetOID uint32 `json:"targetOid,omitempty"`
	// RoleOID is the object identifier of the role that receives the grant.
	RoleOID uint32 `json:"roleOid,omitempty"`
}

// A Grant is a membership of a role in another, or the privileges of a role on a database, a schema, or the tables, sequences
// or routines of a schema. Create only one Grant per role and target: two would revoke each other's privileges.
//
// +kubebuilder:validation:XValidation:rule="!self.spec.?forProvider.?target.?names.hasValue() && !self.spec.?initProvider.?target.?names.hasValue() || oldSelf.spec.?forProvider.?target.?names.hasValue() || oldSelf.spec.?initProvider.?target.?names.hasValue()",message="target.names cannot be set later, since the privileges on all other objects of the schema would remain: create another grant instead"
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pggrant
// +bowline:scopes=Cluster,Namespaced
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec   `json:"spec"`
	Status GrantStatus `json:"status,omitempty"`
}
