// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// A ResourceSpec is the common part of a cluster-scoped managed resource's spec.
type ResourceSpec struct {
	// ProviderConfigReference names the ProviderConfig that says how to reach the external system.
	// +kubebuilder:default={"name": "default"}
	// +optional
	ProviderConfigReference *ProviderConfigReference `json:"providerConfigRef,omitempty"`

	// WriteConnectionSecretToReference names the Secret that receives the connection details of the external
	// resource, such as its endpoint, user name and password. Without it none are published. What the external system
	// tells only once, such as a generated password, is known from the moment of creation: name the Secret before, and
	// do not delete it. If another Secret is named later, it takes over what the first one holds.
	// +kubebuilder:validation:XValidation:rule="has(self.name) == has(self.namespace)",message="give both name and namespace of the connection secret, or neither"
	// +optional
	WriteConnectionSecretToReference *SecretReference `json:"writeConnectionSecretToRef,omitempty"`

	// DeletionPolicy says what becomes of the external resource when this object is deleted: Delete deletes it too,
	// Orphan leaves it as it is.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// A ResourceStatus is the common part of a managed resource's status.
type ResourceStatus struct {
	ConditionedStatus `json:",inline"`
}

// A DeletionPolicy says what becomes of the external resource when its managed resource is deleted.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// Deletion policies. An unset one means DeletionDelete.
const (
	// DeletionDelete deletes the external resource too.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves the external resource untouched.
	DeletionOrphan DeletionPolicy = "Orphan"
)
